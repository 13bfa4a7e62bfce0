// Tells the server the browser's time zone, which pages show to a person who has chosen none.
"use strict";
document.cookie = `loci_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone || ""}; path=/; max-age=31536000; samesite=lax`;

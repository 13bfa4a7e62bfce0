// The sites that can be switched on. The table of the page's side (selectors, endpoints) is in page/.
import { readChatgpt } from "./chatgpt.js";
import { readClaude } from "./claude.js";
import { cleanId } from "./stream.js";

export const SITES = {
  "claude.ai": { name: "Claude", read: readClaude, path: /^\/chat\/([^/]+)/, address: (id) => `https://claude.ai/chat/${id}` },
  "chatgpt.com": { name: "ChatGPT", read: readChatgpt, path: /\/c\/([^/]+)/, address: (id) => `https://chatgpt.com/c/${id}` },
};

/** The pages of a site, as browsers write it. */
export function pattern(platform) {
  return `https://${platform}/*`;
}

/** The site of an address, or "". */
export function platformOf(url) {
  const host = URL.canParse(url ?? "") ? new URL(url).hostname : "";
  return host in SITES ? host : "";
}

/** {platform, id} of the conversation that an address shows; null if it shows none. */
export function placeOf(url) {
  const platform = platformOf(url);
  const id = platform && cleanId(SITES[platform].path.exec(new URL(url).pathname)?.[1]);
  return id ? { platform, id } : null;
}

// The list of sites with their switches, in the settings and in the popup.
import { ask, element, healthText } from "./shared.js";

/** Show a switch for each site; `after` is called when one was used, with an Error if it failed. */
export function showSites(list, sites, after) {
  list.replaceChildren(...sites.map((site) => siteItem(site, after)));
}

function siteItem(site, after) {
  const box = element("input", { type: "checkbox" });
  box.checked = site.isOn && site.isAllowed;
  box.addEventListener("change", async () => {
    try {
      // First of all: a browser asks only while the click is fresh. Where the right is there, nothing is shown.
      const origins = [`https://${site.platform}/*`];
      if (box.checked && !(await chrome.permissions.request({ origins }))) throw new Error(`Loci may not read ${site.name}.`);
      await ask("switch-site", { platform: site.platform, isOn: box.checked });
      after(null);
    } catch (error) {
      box.checked = false;
      after(error);
    }
  });
  const item = element("li", {}, element("label", { class: "row" }, box, ` ${site.name} (${site.platform})`));
  const health = site.isOn ? healthText(site) : "";
  if (health) item.append(element("p", { class: "bad small" }, health));
  return item;
}

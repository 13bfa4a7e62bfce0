// The search panel and short notices, drawn over the page. The panel is a page of the extension in a frame, which the site
// cannot read; the site sees an empty element.
globalThis.lociFrame = (() => {
  const STYLE = `
    :host { all: initial; }
    iframe { position: fixed; z-index: 2147483647; inset: 10vh 0 auto 0; margin: 0 auto; width: min(44rem, 94vw); height: min(34rem, 80vh);
      border: 0; border-radius: 14px; box-shadow: 0 16px 60px rgb(0 0 0 / .4); color-scheme: light dark; }
    p { position: fixed; z-index: 2147483647; right: 1rem; bottom: 1rem; max-width: 24rem; margin: 0; padding: .75rem 1rem; border-radius: 10px;
      background: #14323a; color: #fff; font: 15px/1.5 system-ui, sans-serif; }`;
  let open = null;

  function host() {
    const element = document.createElement("div");
    const root = element.attachShadow({ mode: "closed" });
    const style = document.createElement("style");
    style.textContent = STYLE;
    root.append(style);
    document.documentElement.append(element);
    return { element, root };
  }

  /** Show the panel; `address` names it with a key that only this opening has. */
  function show(address) {
    close();
    const { element, root } = host();
    const frame = document.createElement("iframe");
    frame.src = address;
    frame.title = "Search Loci";
    root.append(frame);
    frame.addEventListener("load", () => frame.focus());
    open = { element, before: document.activeElement };
  }

  function close() {
    open?.element.remove();
    open?.before?.focus?.();
    open = null;
  }

  /** Show a line of text for some seconds. */
  function notice(text) {
    const { element, root } = host();
    const line = document.createElement("p");
    line.setAttribute("role", "status");
    line.textContent = text;
    root.append(line);
    setTimeout(() => element.remove(), 5000);
  }

  return { show, close, notice, isOpen: () => open !== null };
})();

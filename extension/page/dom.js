// What the page shows, for when its traffic cannot be read. A site's pages change: each list is tried in order, newest last.
globalThis.lociPage = (() => {
  const SITES = {
    "claude.ai": {
      path: /^\/chat\/([^/]+)/,
      link: (id) => `a[href$="/chat/${id}"]`,
      turns: [
        { select: '[data-testid="user-message"]', role: "user" },
        { select: ".font-claude-message", role: "assistant" },
        { select: ".font-claude-response", role: "assistant" },
        { select: "[data-message-role]", role: (node) => node.dataset.messageRole },
      ],
      busy: '[data-is-streaming="true"]',
      temporary: (url) => /incognito/.test(url.search + url.pathname),
    },
    "chatgpt.com": {
      path: /\/c\/([^/]+)/,
      link: (id) => `a[href$="/c/${id}"]`,
      turns: [
        { select: "[data-message-author-role]", role: (node) => node.dataset.messageAuthorRole, id: (node) => node.dataset.messageId },
        { select: "article[data-turn], section[data-turn]", role: (node) => node.dataset.turn, inner: "[data-message-author-role]" },
      ],
      busy: '[data-testid="stop-button"], .result-streaming',
      temporary: (url) => url.searchParams.get("temporary-chat") === "true",
    },
  };
  const site = SITES[location.hostname];

  /** The id of the open conversation, or "". */
  function openId() {
    return site?.path.exec(location.pathname)?.[1] ?? "";
  }

  function isTemporary() {
    return site.temporary(new URL(location.href));
  }

  /** True while an answer is being written. */
  function isBusy() {
    return document.querySelector(site.busy) !== null;
  }

  /** True if the site lists the open conversation in its own history, which it never does with a temporary one. */
  function isListed() {
    return document.querySelector(site.link(CSS.escape(openId()))) !== null;
  }

  /** The turns in the order of the page; one inside another counts once. */
  function readTurns() {
    const found = [];
    for (const { select, role, id, inner } of site.turns) {
      for (const node of document.querySelectorAll(select)) {
        if (inner && node.querySelector(inner)) continue;
        if (found.some((each) => each.node.contains(node) || node.contains(each.node))) continue;
        found.push({ node, role: typeof role === "string" ? role : role(node), id: id?.(node) ?? "" });
      }
    }
    found.sort((a, b) => (a.node.compareDocumentPosition(b.node) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
    return found
      .map(({ node, role, id }) => ({ id, role, text: node.innerText.trim() }))
      .filter(({ role, text }) => text && ["user", "assistant"].includes(role));
  }

  return { openId, isTemporary, isBusy, isListed, readTurns };
})();

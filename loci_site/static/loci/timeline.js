/* The sliders of the timeline: what recall would find at a moment, as Loci knew it at another. The server decides
   which memories these are; this script only marks them. */

const box = document.getElementById("timeline");

if (box) {
  const t = window.lociText;
  const form = document.getElementById("timeline-form");
  const start = Date.parse(box.dataset.start);
  const end = Date.parse(box.dataset.end);
  const now = Date.now();
  const steps = 1000;
  // Swedes write dates as ISO 8601 does. The server reads what has no offset in the account's zone.
  const local = new Intl.DateTimeFormat("sv-SE", { timeZone: box.dataset.zone, dateStyle: "short", timeStyle: "short" });
  const pause = 120; // ms after the last move
  let timer = null;
  let latest = 0;
  const hands = [
    { name: "as_of", slider: "as-of", last: end },
    { name: "known_at", slider: "known-at", last: Math.min(end, now) }, // nothing is known in the future
  ].map((hand) => ({
    ...hand,
    input: document.getElementById(hand.slider),
    output: document.getElementById(`${hand.slider}-said`),
    lines: box.querySelectorAll(`[data-hand=${hand.name}]`),
    field: form.elements[hand.name],
  }));

  for (const hand of hands) {
    hand.isNow = !hand.input.dataset.at;
    const chosen = hand.isNow ? now : Date.parse(hand.input.dataset.at);
    hand.input.value = Math.round(((chosen - start) / (hand.last - start)) * steps);
    hand.input.addEventListener("input", () => { hand.isNow = false; moved(); });
    place(hand);
  }
  document.getElementById("time-now").addEventListener("click", () => {
    for (const hand of hands) {
      hand.isNow = true;
      hand.input.value = Math.round(((now - start) / (hand.last - start)) * steps);
    }
    moved();
  });

  function at(hand) {
    return hand.isNow ? now : start + ((hand.last - start) * Number(hand.input.value)) / steps;
  }

  function place(hand) {
    const moment = at(hand);
    const x = ((Number(box.dataset.width) * (moment - start)) / (end - start)).toFixed(1);
    for (const line of hand.lines) {
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    }
    const text = hand.isNow ? t("now") : local.format(moment);
    hand.output.textContent = text;
    hand.input.setAttribute("aria-valuetext", text);
    hand.field.value = hand.isNow ? "" : text.replace(" ", "T");
  }

  function moved() {
    hands.forEach(place);
    clearTimeout(timer);
    timer = setTimeout(ask, pause);
  }

  async function ask() {
    latest += 1;
    const mine = latest;
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    window.history.replaceState(null, "", `?${query}`);
    const response = await fetch(`${box.dataset.then}?${query}`);
    const answer = await response.json();
    if (mine !== latest) return;
    const status = document.getElementById("time-said");
    if (!response.ok) {
      status.textContent = answer.message;
      return;
    }
    const seen = new Set(answer.ids);
    document.querySelectorAll("[data-memory]").forEach((row) => row.classList.toggle("time-hidden", !seen.has(row.dataset.memory)));
    const isNow = hands.every((hand) => hand.isNow);
    status.textContent = t(isNow ? "Recall finds {count} of {all} now." : "Recall finds {count} of {all} then.", { count: answer.ids.length, all: answer.of });
  }
}

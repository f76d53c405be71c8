"use strict";
// What the server cannot do: draw who got which arm, stop and resume live updates, add rows to a form.
(() => {
  const find = (selector, from = document) => from.querySelector(selector);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Live updates. What has not changed is not touched, so that focus and selection stay where they are.
  let live = true;
  const shown = new Map();
  const toggle = find("#live-toggle");
  const said = find("#connection");
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      live = !live;
      toggle.setAttribute("aria-pressed", String(live));
      find("#live-word").textContent = live ? "Live" : "Stopped";
    });
  }
  const tell = (text) => { if (said && said.textContent !== text) said.textContent = text; };
  const polls = (event) => event.detail.elt && event.detail.elt.hasAttribute("data-live");

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (polls(event) && (!live || document.hidden)) event.preventDefault();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!polls(event)) return;
    const status = event.detail.xhr ? event.detail.xhr.status : 0;
    if (status === 401 || status === 404) { window.location.reload(); return; }
    tell(event.detail.successful || status === 204 ? "" : "No answer from the server; trying again.");
  });
  const inside = (element) => [...element.childNodes].map((node) => node.outerHTML || node.textContent).join("");
  document.querySelectorAll("[id^=part-]").forEach((part) => shown.set(part.id, inside(part)));
  const unchanged = (id, html) => {
    const same = shown.get(id) === html;
    shown.set(id, html);
    return same;
  };
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const typing = event.target.contains(document.activeElement) && document.activeElement.matches("input");
    if (typing || unchanged(event.target.id, inside(event.detail.fragment))) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    if (target && target.id === "campaigns" && unchanged("campaigns", event.detail.serverResponse)) {
      event.detail.shouldSwap = false;
    }
  });
  document.addEventListener("htmx:afterSettle", () => draw());

  // Who got which arm: shares, one on top of the other.
  let plot = null;
  let drawn = "";
  function draw(anew = false) {
    const place = find("#course-plot");
    const source = find("#course-data");
    if (!place || !source || (source.dataset.course === drawn && !anew)) return;
    drawn = source.dataset.course;
    const course = JSON.parse(drawn);
    if (plot) { plot.destroy(); plot = null; }
    if (!course.ends.length) return;
    const totals = course.ends.map((_, k) => course.counts.reduce((sum, counts) => sum + counts[k], 0));
    const below = course.ends.map(() => 0);
    const layers = course.counts.map((counts) => counts.map((count, k) => {
      below[k] += totals[k] ? count / totals[k] : 0;
      return below[k];
    }));
    const first = (values) => [values[0], ...values]; // a part holds from the end of the one before it
    const stepped = uPlot.paths.stepped({ align: -1 });
    const ink = colour("--soft");
    const font = "12px system-ui, sans-serif";
    const axis = { stroke: ink, font, ticks: { stroke: colour("--rule") }, grid: { stroke: colour("--rule"), width: 1 } };
    const series = course.names.map((name, k) => ({
      label: name,
      paths: stepped,
      width: 0,
      fill: colour("--c" + course.colours[k]),
      points: { show: false },
    })).reverse();
    place.replaceChildren();
    plot = new uPlot({
      width: place.clientWidth || 600,
      height: 240,
      legend: { show: false },
      cursor: { show: false },
      padding: [8, 12, 0, 0],
      scales: { x: { time: false, range: [0, course.ends[course.ends.length - 1]] }, y: { range: [0, 1] } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((x) => (x % 1 ? "" : x.toLocaleString("en"))), label: "customers", labelFont: font, labelSize: 18, size: 34 },
        { ...axis, values: (_, ticks) => ticks.map((y) => Math.round(100 * y) + " %"), size: 52 },
      ],
      series: [{}, ...series],
    }, [[0, ...course.ends], ...layers.map(first).reverse()], place);
  }
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(true));
  let width = 0;
  const place = find("#course-plot");
  if (place && "ResizeObserver" in window) {
    new ResizeObserver(() => {
      if (place.clientWidth && place.clientWidth !== width) {
        width = place.clientWidth;
        if (plot) plot.setSize({ width, height: 240 });
      }
    }).observe(place);
  }
  draw();

  // The form of a new campaign: arms come and go.
  const form = find("#new");
  if (form) {
    const rows = find("#arms");
    const renumber = () => {
      const all = [...rows.querySelectorAll(".arm-row")];
      all.forEach((row, k) => {
        row.setAttribute("aria-label", "Arm " + (k + 1));
        find("input[type=radio]", row).value = String(k);
        find(".remove", row).hidden = all.length <= 2;
      });
    };
    find("#add-arm").hidden = false;
    find("#add-arm").addEventListener("click", () => {
      rows.append(find("#arm-row").content.cloneNode(true));
      renumber();
      find("input", rows.lastElementChild).focus();
    });
    rows.addEventListener("click", (event) => {
      const button = event.target.closest(".remove");
      if (!button) return;
      const row = button.closest(".arm-row");
      const next = row.nextElementSibling || row.previousElementSibling;
      if (find("input[type=radio]", row).checked) find("#today-none").checked = true;
      row.remove();
      renumber();
      find("input", next).focus();
      form.dispatchEvent(new Event("arms"));
    });
    renumber();
  }
})();

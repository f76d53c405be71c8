"use strict";
// What the server cannot do: stop and resume live updates, add rows to a form.
(() => {
  const find = (selector, from = document) => from.querySelector(selector);

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
    const typing = event.target.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
    if (typing || unchanged(event.target.id, inside(event.detail.fragment))) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    if (target && target.id === "campaigns" && unchanged("campaigns", event.detail.serverResponse)) {
      event.detail.shouldSwap = false;
    }
  });
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
    const file = find("#history-file");
    file.hidden = false;
    file.addEventListener("change", async () => {
      if (!file.files.length) return;
      find("#history").value = await file.files[0].text();
      form.dispatchEvent(new Event("arms"));
    });
  }
})();

"use strict";
/* What the pages do beyond links and forms. Every page works without it; this makes it quick.
   Nothing here decides anything: the server checks every claim, key and permission again. */
(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const token = () => one('meta[name="csrf-token"]')?.content ?? "";

  /* Storage may be forbidden by the browser's settings; the page then forgets, and still works. */
  const remember = (store, name, value) => {
    try { value === null ? store().removeItem(name) : store().setItem(name, value); } catch { /* forgotten */ }
  };
  const recall = (store, name) => {
    try { return store().getItem(name); } catch { return null; }
  };
  const local = () => window.localStorage;
  const session = () => window.sessionStorage;

  document.addEventListener("htmx:configRequest", (event) => {
    event.detail.headers["X-CSRFToken"] = token();
  });

  /* A part of the page that renews itself says its state once, when it changes: a live region that is itself
     replaced each second would be read each second, or never. */
  const announced = new Map(); // by the id of the part
  const announce = (part) => {
    const words = one("[data-announce]", part)?.textContent.trim();
    const place = one("[data-said]");
    if (!words || !place || announced.get(part.id) === words) return;
    if (announced.has(part.id)) place.textContent = words;
    announced.set(part.id, words);
  };
  document.addEventListener("htmx:load", (event) => {
    const part = event.detail.elt;
    all("[data-announce]", part.parentElement ?? part).forEach((word) => {
      const holder = word.closest("[id]:not([data-announce])");
      if (holder) announce(holder);
    });
  });

  /* A second press of a button sends nothing twice (the key sees to that); this says so at once. */
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) { event.preventDefault(); return; }
    event.target.dataset.sent = "1";
    window.setTimeout(() => { delete event.target.dataset.sent; }, 4000);
  });
  window.addEventListener("pageshow", () => all("form[data-sent]").forEach((form) => { delete form.dataset.sent; }));

  /* ------------------------------------------------------------- the rows of a list */

  const rows = () => all("[data-row]");
  const rowOf = (element) => element?.closest?.("[data-row]") ?? null;
  const currentRow = () => one("[data-row].is-current");

  const makeCurrent = (row) => {
    rows().forEach((other) => other.classList.toggle("is-current", other === row));
  };

  const move = (by) => {
    const list = rows();
    if (!list.length) return;
    const at = list.indexOf(currentRow());
    const row = list[at < 0 ? 0 : Math.min(list.length - 1, Math.max(0, at + by))];
    makeCurrent(row);
    const link = one("a[data-open]", row);
    link?.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("focusin", (event) => {
    const row = rowOf(event.target);
    if (row) makeCurrent(row);
  });

  /* ------------------------------------------------------------- the selection, across pages */

  const setUpSelection = () => {
    const bar = one("[data-selection]");
    if (!bar) return;
    const name = `selection:${bar.dataset.selection}`;
    const boxes = all("input[data-select]");
    const everything = one("input[data-select-page]");
    const bars = all("input[data-select-matching]");
    const matching = bars[0];
    let chosen = new Set((recall(session, name) ?? "").split(",").filter(Boolean));

    const show = () => {
      boxes.forEach((box) => {
        box.checked = matching?.checked || chosen.has(box.value);
        box.disabled = Boolean(matching?.checked);
        rowOf(box)?.classList.toggle("is-selected", box.checked);
      });
      const here = boxes.filter((box) => box.checked).length;
      if (everything) {
        everything.checked = here > 0 && here === boxes.length;
        everything.indeterminate = here > 0 && here < boxes.length;
        everything.disabled = Boolean(matching?.checked);
      }
      all("[data-selected-count], [data-selected-again]").forEach((count) => {
        count.textContent = matching?.checked ? bar.dataset.matching : String(chosen.size);
      });
      all("[data-needs-selection]").forEach((button) => {
        button.disabled = !matching?.checked && chosen.size === 0;
      });
      remember(session, name, chosen.size ? Array.from(chosen).join(",") : null);
    };
    const choose = (box, on) => { on ? chosen.add(box.value) : chosen.delete(box.value); };

    let last = null;
    boxes.forEach((box) => box.addEventListener("click", (event) => {
      const list = event.shiftKey && last ? between(boxes, last, box) : [box];
      list.forEach((each) => choose(each, box.checked));
      last = box;
      show();
    }));
    everything?.addEventListener("change", () => {
      boxes.forEach((box) => choose(box, everything.checked));
      show();
    });
    // The bars at both ends are one: what is chosen in either counts.
    bars.forEach((box) => box.addEventListener("change", () => {
      bars.forEach((other) => { other.checked = box.checked; });
      show();
    }));
    one("[data-clear-selection]", bar)?.addEventListener("click", () => {
      chosen = new Set();
      bars.forEach((box) => { box.checked = false; });
      show();
    });
    one("form", bar)?.addEventListener("submit", (event) => {
      const form = event.target;
      all("input[data-carried]", form).forEach((old) => old.remove());
      const onPage = new Set(boxes.map((box) => box.value));
      remember(session, name, null);
      if (matching?.checked) return;
      chosen.forEach((id) => {
        if (onPage.has(id)) return;
        const field = document.createElement("input");
        Object.assign(field, { type: "hidden", name: "ids[]", value: id });
        field.dataset.carried = "";
        form.append(field);
      });
    });
    show();
  };

  const between = (boxes, from, to) => {
    const [a, b] = [boxes.indexOf(from), boxes.indexOf(to)].sort((x, y) => x - y);
    return boxes.slice(a, b + 1);
  };

  /* ------------------------------------------------------------- the lease of the open item */

  const setUpLease = () => {
    const box = one("[data-lease]");
    if (!box) return;
    const timer = one("[data-lease-left]", box);
    const live = one("[data-lease-said]");
    const skew = Date.parse(box.dataset.now) - Date.now();
    const length = Number(box.dataset.length) * 1000;
    let until = Date.parse(box.dataset.lease);
    let active = Date.now();
    let renewed = Date.now();
    let asking = false;
    let lost = false;
    let said = "";

    const left = () => until - (Date.now() + skew);
    const say = (words, mark) => {
      if (said === mark || !live) return;
      said = mark;
      live.textContent = words;
    };
    const written = (milliseconds) => {
      const seconds = Math.max(0, Math.floor(milliseconds / 1000));
      const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
      const two = (n) => String(n).padStart(2, "0");
      return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
    };
    const lose = (words) => {
      lost = true;
      const note = one("[data-lease-lost]");
      if (note) {
        const place = one("[data-lease-lost-words]", note);
        if (place && words) place.textContent = words;
        note.hidden = false;
      }
      box.hidden = true;
      all("[data-needs-claim]").forEach((button) => { button.disabled = true; });
    };
    const renew = async () => {
      if (asking || lost) return;
      asking = true;
      renewed = Date.now();
      try {
        const body = new URLSearchParams({ key: crypto.randomUUID(), token: box.dataset.token });
        const answer = await fetch(box.dataset.renew, {
          method: "POST", body, credentials: "same-origin", redirect: "manual",
          headers: { "X-CSRFToken": token(), Accept: "application/json" },
        });
        if (answer.ok) {
          until = Date.parse((await answer.json()).until);
        } else if (answer.status === 409) {
          lose((await answer.json()).message);
        } else if (answer.type === "opaqueredirect" || answer.status === 403) {
          lose(box.dataset.signedOut);
        }
      } catch { /* no network: the next tick tries again while the lease lasts */ } finally { asking = false; }
    };
    const tick = () => {
      if (lost) return;
      const remaining = left();
      if (timer) timer.textContent = written(remaining);
      if (remaining <= 0) { renew(); return; }
      const idle = Date.now() - active > length;
      const due = Date.now() - renewed > Math.max(5000, length / 4);
      if (document.visibilityState === "visible" && !idle && due) renew();
      if (remaining < 60000) say(box.dataset.sayOne, "one");
      else if (remaining < 300000 && length > 600000) say(box.dataset.sayFive, "five");
      else if (said) { said = ""; if (live) live.textContent = ""; }
    };
    ["keydown", "pointerdown", "input", "scroll"].forEach((kind) =>
      document.addEventListener(kind, () => { active = Date.now(); }, { passive: true, capture: true }));
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") { active = Date.now(); tick(); }
    });
    tick();
    window.setInterval(tick, 1000);
  };

  /* ------------------------------------------------------------- single keys */

  const keysOff = () => recall(local, "single-keys") === "off";
  const typing = (element) =>
    element instanceof HTMLElement && (element.isContentEditable ||
      (element.matches("input, textarea, select") && !element.matches("input[type=checkbox], input[type=radio]")));
  const press = (selector, root = document) => {
    const found = one(selector, root);
    if (found && !found.disabled) found.click();
  };

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    o: () => press("a[data-open]", currentRow() ?? document.createElement("i")),
    x: () => press("input[data-select]", currentRow() ?? document.createElement("i")),
    c: () => press("[data-key-claim]", rows().length ? currentRow() ?? document.createElement("i") : document),
    n: () => press("[data-key-next]"),
    s: () => press("[data-key-skip]"),
    "/": () => one("[data-key-search]")?.focus(),
    "?": () => one("dialog[data-keys]")?.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat && !"jk".includes(event.key)) return;
    if (event.ctrlKey || event.altKey || event.metaKey || typing(event.target)) return;
    if (one("dialog[open]")) return;
    const act = keys[event.key];
    if (!act || !one("dialog[data-keys]") || keysOff()) return;
    event.preventDefault();
    act();
  });

  const setUpKeys = () => {
    const dialog = one("dialog[data-keys]");
    if (!dialog) return;
    const box = one("input[data-keys-on]", dialog);
    if (box) {
      box.checked = !keysOff();
      box.addEventListener("change", () => remember(local, "single-keys", box.checked ? null : "off"));
    }
    all("[data-keys-open]").forEach((button) => {
      button.hidden = false;
      button.addEventListener("click", () => dialog.showModal());
    });
  };

  const showCurrentPage = () => {
    const [menu, current] = [one(".menu"), one(".menu [aria-current]")];
    if (current) menu.scrollLeft = current.offsetLeft - (menu.clientWidth - current.offsetWidth) / 2;
  };

  document.addEventListener("DOMContentLoaded", () => {
    showCurrentPage();
    setUpSelection();
    setUpLease();
    setUpKeys();
  });
})();

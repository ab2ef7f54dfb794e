// The studio works without this: every link and form is a page of its own. With it, pages change in
// place, forms are sent as they are changed, and work that is under way is watched.
"use strict";

(() => {
  const PARTS = ["top", "rooms", "work", "plan", "jobs"];
  const THEME = "sfumato-theme";
  const root = document.documentElement;
  const kept = localStorage.getItem(THEME);
  if (kept) root.dataset.theme = kept;

  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const own = (address) => {
    const url = new URL(address, location.href);
    return url.origin === location.origin ? url : null;
  };

  // --- pages that change in place ---

  let asking = null; // what is on its way now
  const queue = []; // forms that wait for it

  // Where the reader is, so that it can be found again on the new page.
  const place = () => {
    const at = document.activeElement;
    if (!at || at === document.body) return null;
    const form = at.closest("form");
    return {
      id: at.id,
      name: at.getAttribute("name"),
      value: at.type === "submit" || at.type === "radio" || at.type === "checkbox" ? at.value : null,
      action: form && form.getAttribute("action"),
      number: form ? all("form").filter((f) => f.getAttribute("action") === form.getAttribute("action")).indexOf(form) : -1,
    };
  };

  const find = (was) => {
    if (!was) return null;
    if (was.id) {
      const same = document.getElementById(was.id);
      if (same) return same;
    }
    const form = was.action && all("form").filter((f) => f.getAttribute("action") === was.action)[was.number];
    if (!form) return null;
    return (
      all("[name], button", form).find(
        (e) => e.getAttribute("name") === was.name && (was.value === null || e.value === was.value) && e.type !== "hidden",
      ) || null
    );
  };

  const show = (text, address, { moved }) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const was = moved ? null : place();
    const open = moved ? [] : all("details[open][id]").map((d) => d.id);
    const scrolled = moved ? {} : Object.fromEntries(all(".scroll[id]").map((e) => [e.id, [e.scrollTop, e.scrollLeft]]));
    document.title = fresh.title;
    for (const id of PARTS) {
      const now = document.getElementById(id);
      const next = fresh.getElementById(id);
      if (now && next) now.replaceWith(next);
      else if (now) now.remove();
      else if (next) document.body.append(next);
    }
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const [id, [top, left]] of Object.entries(scrolled)) {
      document.getElementById(id)?.scrollTo({ top, left, behavior: "instant" });
    }
    if (address) history[moved ? "pushState" : "replaceState"](null, "", address);
    if (moved) {
      scrollTo({ top: 0, behavior: "instant" });
      one("#work")?.focus({ preventScroll: true });
    } else find(was)?.focus({ preventScroll: true });
    ready();
  };

  const load = async (address, options = {}, moved = true, push = true) => {
    root.classList.add("busy");
    try {
      const answer = await fetch(address, { ...options, credentials: "same-origin" });
      const kind = answer.headers.get("content-type") || "";
      if (!kind.includes("text/html")) {
        failed(await answer.text());
        return null;
      }
      const at = own(answer.url);
      const same = at.pathname + at.search === location.pathname + location.search;
      // A form that was refused answers at its own address: that is no page to come back to.
      const stays = options.method === "POST" && !answer.redirected;
      show(await answer.text(), stays || !push ? null : at, { moved: moved && !same && !stays });
      if (stays) one("#work .notice.bad")?.scrollIntoView({ block: "center" });
      return answer;
    } catch {
      failed("The studio does not answer. Is it still running in the terminal?");
      return null;
    } finally {
      root.classList.remove("busy");
    }
  };

  const failed = (words) => {
    const box = one("#work");
    if (!box) return;
    one("#lost")?.remove();
    const said = document.createElement("p");
    said.id = "lost";
    said.className = "notice bad";
    said.setAttribute("role", "alert");
    said.textContent = words;
    box.prepend(said);
  };

  const next = async () => {
    if (asking || !queue.length) return;
    const { action, data, many } = queue.shift();
    // What this page changed itself since the form was made is no stranger's change.
    const seen = one("input[name=version]");
    if (seen && data.has("version")) data.set("version", seen.value);
    const body = many ? data : new URLSearchParams(data);
    asking = load(action, { method: "POST", body }, true);
    const answer = await asking;
    asking = null;
    if (!answer || !answer.ok) queue.length = 0;
    next();
  };

  const send = (form, submitter) => {
    const data = new FormData(form, submitter);
    // What was fetched beside the page, such as work under way, does not know which one it is on.
    if (data.has("back")) data.set("back", location.pathname + location.search);
    queue.push({ action: submitter?.getAttribute("formaction") || form.action, data, many: form.enctype === "multipart/form-data" });
    next();
  };

  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (link.getAttribute("target") || link.hasAttribute("download") || link.getAttribute("href").startsWith("#")) return;
    const to = own(link.getAttribute("href"));
    if (!to || to.pathname.includes("/file/")) return;
    event.preventDefault();
    // What is chosen in a picture is shown beside it: the reader stays where he is.
    load(to, {}, !link.hasAttribute("data-stay"));
  });

  addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || !own(form.action)) return;
    event.preventDefault();
    if (form.method === "get") {
      const to = own(form.action);
      to.search = new URLSearchParams(new FormData(form, event.submitter)).toString();
      load(to);
    } else send(form, event.submitter);
  });

  addEventListener("change", (event) => {
    const form = event.target.form;
    if (!form?.hasAttribute("data-auto") || event.target.hasAttribute("data-wait")) return;
    if (form.reportValidity()) form.requestSubmit();
  });

  addEventListener("popstate", () => load(location.href, {}, true, false));

  // --- work that is under way ---

  let watching = 0;
  const watch = () => {
    clearTimeout(watching);
    const box = one("#jobs");
    if (!box?.dataset.busy) return;
    watching = setTimeout(async () => {
      let text;
      try {
        text = await (await fetch(box.dataset.watch, { credentials: "same-origin" })).text();
      } catch {
        watching = setTimeout(watch, 3000);
        return;
      }
      const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("jobs");
      const now = one("#jobs");
      if (!fresh || !now) return;
      const [before, after] = [now, fresh].map((e) => (e.dataset.busy || "").split(",").filter(Boolean));
      const at = place();
      now.replaceWith(fresh);
      if (at && !document.activeElement?.closest("#jobs")) find(at)?.focus({ preventScroll: true });
      // Something was done: the page that waits for it is made anew, unless somebody is typing.
      if (before.some((name) => !after.includes(name))) await refresh();
      watch();
    }, 500);
  };

  const refresh = async () => {
    const at = document.activeElement;
    const typing = at?.matches?.("textarea, input[type=text], input[type=number], input[type=search]") && at.value !== at.defaultValue;
    if (typing) return;
    await load(location.href, {}, false);
  };

  // --- small helps ---

  const drop = (form) => {
    const field = one("input[type=file]", form);
    for (const name of ["dragenter", "dragover"]) {
      form.addEventListener(name, (event) => {
        event.preventDefault();
        form.classList.add("over");
      });
    }
    form.addEventListener("dragleave", () => form.classList.remove("over"));
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      form.classList.remove("over");
      if (!event.dataTransfer.files.length) return;
      field.files = event.dataTransfer.files;
      form.requestSubmit();
    });
    field.addEventListener("change", () => field.files.length && form.requestSubmit());
  };

  // Values that are dragged into groups: dropping one sends the form that the group belongs to, the
  // value in its field "moved" and the group in "into". The same form has a list for the keyboard.
  const groups = (form) => {
    let dragged = null;
    for (const value of all("[draggable=true][data-value]", form)) {
      value.addEventListener("dragstart", (event) => {
        dragged = value.dataset.value;
        event.dataTransfer.effectAllowed = "move";
        event.dataTransfer.setData("text/plain", "");
      });
    }
    for (const group of all("[data-group]", form)) {
      group.addEventListener("dragover", (event) => {
        if (dragged === null) return;
        event.preventDefault();
        group.classList.add("over");
      });
      group.addEventListener("dragleave", () => group.classList.remove("over"));
      group.addEventListener("drop", (event) => {
        event.preventDefault();
        if (dragged === null) return;
        one("[name=moved]", form).value = dragged;
        one("[name=into]", form).value = group.dataset.group;
        dragged = null;
        form.requestSubmit(one("[data-move]", form));
      });
    }
  };

  // Rows that are fetched when their table is scrolled to its end.
  const rows = (frame) => {
    const body = one("tbody", frame);
    let under = false;
    frame.addEventListener("scroll", async () => {
      const more = frame.dataset.more;
      if (!more || under || frame.scrollTop + frame.clientHeight < frame.scrollHeight - 400) return;
      under = true;
      try {
        const text = await (await fetch(more, { credentials: "same-origin" })).text();
        const fresh = new DOMParser().parseFromString(text, "text/html");
        const table = one("[data-more]", fresh);
        body.append(...all("tbody tr", fresh));
        frame.dataset.more = table?.dataset.more || "";
      } finally {
        under = false;
      }
    });
  };

  // A list of things that is narrowed by typing.
  const narrow = (field) => {
    const items = () => all(field.dataset.narrow);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const item of items()) {
        const text = item.textContent.toLowerCase();
        item.hidden = !words.every((word) => text.includes(word));
      }
    });
  };

  const once = (selector, deed) => {
    for (const found of all(selector)) {
      if (found.dataset.ready) continue;
      found.dataset.ready = "yes";
      deed(found);
    }
  };

  const ready = () => {
    once("[data-drop]", drop);
    once("[data-groups]", groups);
    once("[data-more]", rows);
    once("[data-narrow]", narrow);
    once("[data-theme-switch]", (button) =>
      button.addEventListener("click", () => {
        const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
        root.dataset.theme = dark ? "light" : "dark";
        localStorage.setItem(THEME, root.dataset.theme);
      }),
    );
    watch();
  };

  addEventListener("DOMContentLoaded", () => {
    root.classList.add("script");
    ready();
  });
})();

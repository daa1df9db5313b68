// What the pages do: the light switch, copying code, and the place in the page's contents.
// (Debian's furo ships its own script as an unbundled module, which no browser runs.)
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.remove("no-js");

  const read = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const write = (theme) => { try { localStorage.setItem("theme", theme); } catch {} };

  // auto → the other one → the first one → auto
  const followTheSystem = matchMedia("(prefers-color-scheme: dark)");
  const next = (theme) => {
    const order = followTheSystem.matches ? ["auto", "light", "dark"]
                                          : ["auto", "dark", "light"];
    return order[(order.indexOf(theme) + 1) % order.length];
  };
  const switchLight = () => {
    const theme = next(read() || "auto");
    write(theme);
    document.body.dataset.theme = theme;
  };

  const codeOf = (box) =>
    [...box.querySelectorAll("pre")].map((pre) => {
      const copy = pre.cloneNode(true);
      copy.querySelectorAll(".linenos").forEach((number) => number.remove());
      const text = copy.textContent.replace(/\n$/, "");
      // Of a console only what was typed.
      if (!box.matches(".highlight-console")) return text;
      const typed = text.split("\n").filter((line, i, all) =>
        line.startsWith("$ ") || all[i - 1]?.endsWith("\\") || all[i - 1]?.endsWith("|"));
      return typed.length ? typed.map((line) => line.replace(/^\$ /, "")).join("\n") : text;
    }).join("\n");

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // a page from file:// may not
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };

  const addCopyButton = (box) => {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      await copy(codeOf(box));
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1200);
    });
    box.append(button);
  };

  // What is printed is not folded.
  const openForPrinting = () => {
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = [...document.querySelectorAll("details:not([open])")];
      opened.forEach((fold) => fold.setAttribute("open", ""));
    });
    addEventListener("afterprint", () => {
      opened.forEach((fold) => fold.removeAttribute("open"));
    });
  };

  const followReading = () => {
    const links = new Map();
    for (const link of document.querySelectorAll(".toc-tree a[href^='#']")) {
      const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
      if (target) links.set(target, link.parentElement);
    }
    const mark = () => {
      let current = null;
      for (const [target, item] of links) {
        item.classList.remove("scroll-current");
        if (target.getBoundingClientRect().top < 120) current = item;
      }
      current?.classList.add("scroll-current");
    };
    addEventListener("scroll", mark, { passive: true });
    mark();
  };

  // ← and → turn the page, unless the key means something where the focus is.
  const turnPages = () => {
    addEventListener("keydown", (event) => {
      const other = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
      const key = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
      if (!key || other || event.target.closest("input, textarea, .scrolls-itself")) return;
      const link = document.querySelector(`link[rel="${key}"]`);
      if (link) location.href = link.href;
    });
  };

  // A box that scrolls sideways can be reached with Tab, and then scrolled with ← and →.
  const markScrolling = () => {
    const boxes = document.querySelectorAll(
      "article pre, article table.docutils, .math-wrapper, .table-wrapper, .scrolls");
    const mark = () => {
      for (const box of boxes) {
        const scrolls = box.scrollWidth > box.clientWidth + 1;
        box.classList.toggle("scrolls-itself", scrolls);
        if (scrolls) box.tabIndex = 0; else box.removeAttribute("tabindex");
      }
    };
    addEventListener("resize", mark);
    addEventListener("toggle", mark, true);  // a fold opens
    addEventListener("load", mark);
    window.MathJax?.Hub?.Queue(mark);
    mark();
  };

  // Below each result of the search, the words around the first hit.
  const addExcerpts = () => {
    const results = document.getElementById("search-results");
    if (!results || !window.bookProse) return;
    const words = (new URLSearchParams(location.search).get("q") || "").toLowerCase()
      .split(/\s+/).filter((word) => word);
    const about = (link) => {
      const page = new URL(link.href).pathname.replace(/\.html$/, "");
      const name = Object.keys(bookProse).find((one) => page.endsWith(`/${one}`));
      const text = bookProse[name] || "", small = text.toLowerCase();
      const at = words.map((word) => small.indexOf(word)).find((place) => place >= 0);
      if (at === undefined) return "";
      const from = Math.max(0, small.lastIndexOf(" ", Math.max(0, at - 80)));
      return `${from ? "… " : ""}${text.slice(from, from + 200).trim()} …`;
    };
    const seen = new Set();  // a page's title is a result twice, as page and as heading
    const add = () => {
      for (const item of results.querySelectorAll("li:not(.told)")) {
        item.classList.add("told");
        const link = item.querySelector("a");
        const title = link && `${new URL(link.href).pathname} ${link.textContent}`;
        if (title && seen.has(title)) item.remove();
        seen.add(title);
        const text = link && about(link);
        if (!text) continue;
        const excerpt = document.createElement("p");
        excerpt.className = "context";
        excerpt.textContent = text;
        item.append(excerpt);
      }
    };
    new MutationObserver(add).observe(results, { childList: true, subtree: true });
    add();
  };

  document.addEventListener("DOMContentLoaded", () => {
    addExcerpts();
    for (const button of document.getElementsByClassName("theme-toggle")) {
      button.addEventListener("click", switchLight);
    }
    document.querySelectorAll(".listing, article div[class*='highlight-']")
      .forEach((box) => { if (!box.parentElement.closest(".listing")) addCopyButton(box); });
    for (const brand of document.querySelectorAll(".sidebar-brand-text, .brand")) {
      brand.innerHTML = "lock<span class='brand-second'>step</span>";
    }
    openForPrinting();
    followReading();
    turnPages();
    markScrolling();
    document.querySelector(".sidebar-tree .current-page")
      ?.scrollIntoView({ block: "nearest" });
    // A link to a place inside a fold opens the fold.
    const inside = document.getElementById(location.hash.slice(1));
    inside?.closest("details")?.setAttribute("open", "");
  });
})();

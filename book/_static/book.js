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
      const typed = text.split("\n").filter((line) => line.startsWith("$ "));
      return typed.length ? typed.map((line) => line.slice(2)).join("\n") : text;
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

  document.addEventListener("DOMContentLoaded", () => {
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
    document.querySelector(".sidebar-tree .current-page")
      ?.scrollIntoView({ block: "nearest" });
    // A link to a place inside a fold opens the fold.
    const inside = location.hash && document.getElementById(location.hash.slice(1));
    inside?.closest("details")?.setAttribute("open", "");
  });
})();

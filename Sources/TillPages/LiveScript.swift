/// The one script of the pages. Every two seconds it requests the content of `#results` and replaces it on the page. It
/// requests the address in the switch's `data-source`, which returns that part alone, or else the page itself. The
/// pages work without it.
public enum LiveScript {
    public static let text: StaticString = #"""
        "use strict";
        (() => {
          const results = document.getElementById("results");
          const bar = document.getElementById("live");
          const state = document.getElementById("live-state");
          const button = document.getElementById("live-switch");
          if (!results || !bar || !state || !button) return;

          const words = bar.dataset;
          const interval = 2000;
          let isPaused = false;
          let isAsking = false;
          let timer = 0;
          let last = null;

          // A screen reader hears the state when it changes, not every two seconds.
          const show = (name) => {
            if (bar.dataset.state !== name) {
              bar.dataset.state = name;
              state.textContent = words[name];
            }
            button.textContent = isPaused ? words.resume : words.pause;
          };

          const rows = () => {
            const found = new Map();
            for (const row of results.querySelectorAll("tr[id]")) found.set(row.id, row.textContent);
            return found;
          };

          const isBeingSelected = () => {
            const selection = document.getSelection();
            return selection && !selection.isCollapsed && results.contains(selection.anchorNode);
          };

          const part = (page) => new DOMParser().parseFromString(page, "text/html").getElementById("results").innerHTML;

          const replace = (text) => {
            if (text === last || isBeingSelected()) return;
            const before = rows();
            const focused = results.contains(document.activeElement) ? document.activeElement.id : "";
            results.innerHTML = text;
            last = text;
            for (const [id, content] of rows()) {
              if (before.get(id) !== content) document.getElementById(id).classList.add("fresh");
            }
            if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
          };

          const ask = async () => {
            clearTimeout(timer);
            if (isPaused || isAsking || document.hidden) return;
            isAsking = true;
            try {
              const answer = await fetch((words.source ?? location.pathname) + location.search, {
                cache: "no-store", redirect: "error", signal: AbortSignal.timeout(10000),
              });
              if (answer.status === 401) {
                location.reload();
                return;
              }
              if (!answer.ok) throw new Error(String(answer.status));
              const text = await answer.text();
              if (!isPaused) {
                replace(words.source ? text : part(text));
                show("on");
              }
            } catch {
              if (!isPaused) show("lost");
            } finally {
              isAsking = false;
            }
            timer = setTimeout(ask, interval);
          };

          button.addEventListener("click", () => {
            isPaused = !isPaused;
            show(isPaused ? "paused" : "on");
            ask();
          });
          document.addEventListener("visibilitychange", ask);
          bar.hidden = false;
          show("on");
          timer = setTimeout(ask, interval);
        })();

        """#
}

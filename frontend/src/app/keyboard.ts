// Keys: `/` goes to the search, `g` and a letter goes to a page.
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";

const SECOND_KEY_MS = 900;
const PAGES: Record<string, string> = {
  m: "/map", j: "/jobs", o: "/", q: "/queues", p: "/policy", n: "/nodes", h: "/health", s: "/status", w: "/what-if",
};

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function useKeyboard(focusSearch: () => void): void {
  const navigate = useNavigate();
  useEffect(() => {
    let goPressed = -Infinity;
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const to = event.timeStamp - goPressed < SECOND_KEY_MS ? PAGES[event.key] : undefined;
      if (to) void navigate({ to });
      else if (event.key === "g") goPressed = event.timeStamp;
      else if (event.key === "/") {
        event.preventDefault();
        focusSearch();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [navigate, focusSearch]);
}

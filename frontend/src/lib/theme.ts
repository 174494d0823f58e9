// Light or dark: the reader's choice, else the system's; kept in this browser.
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";
export type ThemeChoice = Theme | "system";
const STORED = "headrace.theme";
const listeners = new Set<() => void>();
const system = () => window.matchMedia("(prefers-color-scheme: dark)");

export function themeChoice(): ThemeChoice {
  const stored = localStorage.getItem(STORED);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function currentTheme(): Theme {
  const choice = themeChoice();
  return choice === "system" ? (system().matches ? "dark" : "light") : choice;
}

function apply(): void {
  const theme = currentTheme();
  document.documentElement.dataset.theme = theme;
  document.documentElement.dataset.mantineColorScheme = theme;
  for (const listener of listeners) listener();
}

export function setTheme(choice: ThemeChoice): void {
  if (choice === "system") localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, choice);
  apply();
}

export function startTheme(): void {
  system().addEventListener("change", apply);
  apply();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, currentTheme);
export const useThemeChoice = (): ThemeChoice => useSyncExternalStore(subscribe, themeChoice);

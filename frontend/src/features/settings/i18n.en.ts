export default {
  title: "Settings",
  language: "Language",
  languageNote: "kept with your account",
  look: "Theme",
  lookNote: "kept in this browser",
  theme: { system: "as the system", light: "light", dark: "dark" },
  keys: "Keyboard shortcuts",
  search: "Search",
  zone: "Time",
  zoneNote: "Times are shown in the zone of this browser: {{zone}}.",
};

// Whether the memory of a device's jobs is enforced or only watched is said as it is.
import i18next from "i18next";
import { renderToStaticMarkup } from "react-dom/server";
import { I18nextProvider } from "react-i18next";
import { expect, it } from "vitest";
import { Limit } from "@/features/job/Placed";
import en from "@/i18n/catalogue.en";
import zh from "@/i18n/catalogue.zh";
import { limitNote } from "./DeviceSheet";

const made = i18next.createInstance();
await made.init({ lng: "en", showSupportNotice: false, resources: { en: { translation: en }, "zh-CN": { translation: zh } } });
const placement = (limit: "hardware" | "watched") => ({ id: 1, job: 2, job_name: null, memory_mib: 1, compute_milli: 1, memory_limit: limit });

it("names what holds for the jobs on a device, each once, and nothing without jobs", () => {
  const note = (...limits: ("hardware" | "watched")[]) => limitNote({ placements: limits.map(placement) }, (key) => made.t(key));
  expect(note()).toBeNull();
  expect(note("watched", "watched")).toBe("only watched");
  expect(note("hardware")).toBe("enforced by the hardware");
});

it("says of a limit that nobody told that it is unknown", () => {
  const shown = (limit: "control-group" | null) => renderToStaticMarkup(<I18nextProvider i18n={made}><Limit limit={limit} /></I18nextProvider>);
  expect(shown("control-group")).toContain("enforced by the node");
  expect(shown(null)).toContain("unknown");
});

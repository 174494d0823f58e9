// How the console is built, served while developing, and tested.
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { mockServer } from "./mock/server.ts";

const server = process.env.HEADRACE_DEV_URL ?? "http://127.0.0.1:8000";
const forwarded = ["/api", "/_allauth", "/healthz", "/readyz"];

export default defineConfig(({ mode }) => ({
  plugins: [react(), ...(mode === "mock" ? [mockServer()] : [])],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: {
    host: "127.0.0.1",
    proxy:
      mode === "mock"
        ? {}
        : {
            ...Object.fromEntries(forwarded.map((path) => [path, { target: server, xfwd: true }])),
            "/live": { target: server, ws: true },
          },
  },
  build: { outDir: "dist", assetsInlineLimit: 0, target: "es2022", reportCompressedSize: true },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}", "tests/**/*.test.{ts,tsx}"] },
}));

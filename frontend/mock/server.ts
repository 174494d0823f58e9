// Answers of an invented cluster while developing (`npm run mock`). Never part of what is built.
import type { Plugin } from "vite";
import { answer } from "./answers.ts";

export function mockServer(): Plugin {
  return {
    name: "headrace-mock",
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const url = new URL(request.url ?? "/", "http://mock.invalid");
        if (!/^\/(api|_allauth)\//.test(url.pathname)) return next();
        const chunks: Buffer[] = [];
        request.on("data", (chunk: Buffer) => chunks.push(chunk));
        request.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const found = answer(request.method ?? "GET", url, text ? JSON.parse(text) : undefined);
          response.statusCode = found.status;
          response.setHeader("Content-Type", "application/json");
          response.end(JSON.stringify(found.body));
        });
        return undefined;
      });
    },
  };
}

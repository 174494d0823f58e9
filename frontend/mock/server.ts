// Answers of an invented cluster while developing (`npm run mock`). Never part of what is built.
import { createHash } from "node:crypto";
import type { Duplex } from "node:stream";
import type { IncomingMessage } from "node:http";
import type { Plugin } from "vite";
import { answer } from "./answers.ts";

const WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

export function mockServer(): Plugin {
  return {
    name: "headrace-mock",
    configureServer(server) {
      server.httpServer?.on("upgrade", openLive);
      server.middlewares.use((request, response, next) => {
        const url = new URL(request.url ?? "/", "http://mock.invalid");
        if (!/^\/(api|_allauth)\//.test(url.pathname)) return next();
        const chunks: Buffer[] = [];
        request.on("data", (chunk: Buffer) => chunks.push(chunk));
        request.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const found = answer(request.method ?? "GET", url, text ? JSON.parse(text) : undefined);
          setTimeout(() => {
            response.statusCode = found.status;
            response.setHeader("Content-Type", "application/json");
            response.end(JSON.stringify(found.body));
          }, found.waitMs ?? 0);
        });
        return undefined;
      });
    },
  };
}

/** A live link that is open and says nothing. */
function openLive(request: IncomingMessage, socket: Duplex): void {
  if (request.url !== "/live") return;
  const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${WEBSOCKET_GUID}`).digest("base64");
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  socket.on("error", () => socket.destroy());
}

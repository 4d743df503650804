import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { start, startNginx, type BenchProcess } from "../bench/gateway/proxies.ts";

/** Port of a proxy on 127.0.0.1, the folder of its files, and the port that it passes connections or requests on to. */
export type ProxyPlace = Readonly<{ folder: string; port: number; behindPort: string }>;

/** Starts a proxy. */
export type StartProxy = (place: ProxyPlace) => Promise<BenchProcess>;

/** Prepares an nginx that passes requests and WebSockets on, with these directives about headers. */
export function prepareNginx(headers: string): StartProxy {
  return ({ folder, port, behindPort }) =>
    startNginx(
      folder,
      port,
      `map $http_upgrade $kept { default upgrade; '' ''; }
       server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${behindPort}; proxy_http_version 1.1;
         proxy_set_header Connection $kept; proxy_set_header Upgrade $http_upgrade; ${headers} } }`,
    );
}

/** Prepares an nginx that passes requests on over one connection that it keeps, with these directives about headers. */
export function prepareKeepingNginx(headers: string): StartProxy {
  return ({ folder, port, behindPort }) =>
    startNginx(
      folder,
      port,
      `upstream behind { server 127.0.0.1:${behindPort}; keepalive 1; }
       server { listen 127.0.0.1:${port}; location / { proxy_pass http://behind; proxy_http_version 1.1;
         proxy_set_header Connection ""; ${headers} } }`,
    );
}

/** Prepares a HAProxy of this mode, with these words behind its server's address. */
export function prepareHaproxy(mode: string, server: string): StartProxy {
  return ({ folder, port, behindPort }) => {
    const config = join(folder, `haproxy-${port}.cfg`);
    writeFileSync(
      config,
      `global\n  nbthread 1\ndefaults\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n  timeout tunnel 60s\n` +
        `listen front\n  bind 127.0.0.1:${port}\n  ${mode}\n  server behind 127.0.0.1:${behindPort} ${server}\n`,
    );
    return start("haproxy", ["-db", "-f", config], port);
  };
}

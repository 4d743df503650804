import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { until } from "#daemon/testing/until.ts";

export type BenchProcess = AsyncDisposable & Readonly<{ url: string; pid: number }>;

const temporaries = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

export async function startNginx(folder: string, port: number, http: string): Promise<BenchProcess> {
  const name = `nginx-${port}`;
  const paths = temporaries.map((part) => `${part}_temp_path ${join(folder, `${name}-${part}`)};`).join(" ");
  writeFileSync(
    join(folder, `${name}.conf`),
    `worker_processes 1; daemon off; pid ${join(folder, `${name}.pid`)}; error_log ${join(folder, `${name}.log`)};
     events { worker_connections 4096; }
     http { access_log off; keepalive_requests 1000000000; ${paths} ${http} }`,
  );
  const started = await start("nginx", ["-c", join(folder, `${name}.conf`)], port);
  await until("nginx has its worker", 20_000, () => listChildren(started.pid).length > 0);
  return findWorker(started);
}

/** Finds the worker process: the only child, or the process itself if it has no child. */
export function findWorker(process: BenchProcess): BenchProcess {
  return { ...process, pid: listChildren(process.pid)[0] ?? process.pid };
}

function listChildren(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

export function startResponder(folder: string, port: number, body: string): Promise<BenchProcess> {
  const server = `server { listen 127.0.0.1:${port}; location / { default_type application/json; return 200 '${body}'; } }`;
  return startNginx(folder, port, server);
}

/** Starts an nginx that forwards everything, over keep-alive connections. */
export function startNginxProxy(folder: string, port: number, nodePort: number): Promise<BenchProcess> {
  return startNginx(
    folder,
    port,
    `upstream node { server 127.0.0.1:${nodePort}; keepalive 64; keepalive_requests 1000000000; }
     server { listen 127.0.0.1:${port}; location / { proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ""; } }`,
  );
}

/** Starts an nginx with only a `proxy_pass`: it forwards over HTTP/1.0, each request on its own connection. */
export function startUnsetNginx(folder: string, port: number, servicePort: number): Promise<BenchProcess> {
  return startNginx(
    folder,
    port,
    `server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${servicePort}; } }`,
  );
}

/** Starts an nginx configured like a cluster's ingress: it forwards the client's address and host, over keep-alive connections. */
export function startNginxIngress(folder: string, port: number, servicePort: number): Promise<BenchProcess> {
  const told = [
    "Host $host",
    'Connection ""',
    "X-Request-ID $request_id",
    "X-Real-IP $remote_addr",
    "X-Forwarded-For $proxy_add_x_forwarded_for",
    "X-Forwarded-Host $http_host",
    "X-Forwarded-Port $server_port",
    "X-Forwarded-Proto $scheme",
    "X-Scheme $scheme",
  ];
  const headers = told.map((header) => `proxy_set_header ${header};`).join(" ");
  return startNginx(
    folder,
    port,
    `upstream service { server 127.0.0.1:${servicePort}; keepalive 320; keepalive_requests 1000000000; }
     server { listen 127.0.0.1:${port}; location / { proxy_pass http://service; proxy_http_version 1.1; ${headers} } }`,
  );
}

/** Starts a HAProxy with one thread that forwards everything, over keep-alive connections. */
export function startHaproxy(folder: string, port: number, nodePort: number): Promise<BenchProcess> {
  const config = join(folder, `haproxy-${port}.cfg`);
  writeFileSync(
    config,
    `global\n  nbthread 1\ndefaults\n  mode http\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n  http-reuse always\nlisten front\n  bind 127.0.0.1:${port}\n  server node 127.0.0.1:${nodePort}\n`,
  );
  return start("haproxy", ["-db", "-f", config], port);
}

export async function start(command: string, args: readonly string[], port: number): Promise<BenchProcess> {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "inherit"] });
  await once(child, "spawn");
  await until(`${command} listens on ${port}`, 20_000, () => canConnect(port));
  return {
    url: `http://127.0.0.1:${port}/`,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

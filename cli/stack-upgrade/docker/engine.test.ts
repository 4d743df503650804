import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { PlatformError } from "../stack-platform.ts";
import { createEngine, ownerLabel, type Engine, type EngineJob } from "./engine.ts";

type EngineReply = Readonly<{ status: number; body?: unknown }>;

let requests: string[];
/** Responds by method and path, without the query; a request without an entry never gets a response. */
let replies: Map<string, EngineReply>;
let engine: Engine;

beforeEach(async () => {
  const directory = await makeTestDirectory();
  requests = [];
  replies = new Map();
  const server = createServer(reply);
  const socketPath = join(directory, "engine.sock");
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  engine = createEngine(`unix://${socketPath}`);
  onTestFinished(async () => {
    server.closeAllConnections();
    await server[Symbol.asyncDispose]();
  });
});

function reply({ method, url = "" }: IncomingMessage, response: ServerResponse): void {
  const call = `${method} ${url.split("?")[0]}`;
  requests.push(call);
  const found = replies.get(call);
  if (found === undefined) return;
  const { status, body } = found;
  response.writeHead(status).end(body instanceof Uint8Array ? body : JSON.stringify(body));
}

const container = (running: boolean, owner: string) => ({
  Image: "sha256:0",
  Id: "c1",
  State: { Running: running, StartedAt: "2027-01-05T00:00:00Z", ExitCode: 0, OOMKilled: false },
  Config: { Labels: { [ownerLabel]: owner } },
  Mounts: [],
});

function frame(text: string): Uint8Array {
  const header = Buffer.alloc(8);
  header[0] = 1;
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

const job: EngineJob = {
  name: "job",
  image: "sha256:0",
  labels: { [ownerLabel]: "mine" },
  command: ["/app/work.ts"],
  volumes: {},
  withinMs: 30_000,
};

/** An engine on which the job exits with the given status; without one, it never exits. */
function replyToJob(status?: number, printed = ""): void {
  replies.set("GET /containers/job/json", { status: 404, body: {} });
  replies.set("POST /containers/create", { status: 201, body: {} });
  replies.set("POST /containers/job/start", { status: 204 });
  if (status !== undefined) replies.set("POST /containers/job/wait", { status: 200, body: { StatusCode: status } });
  replies.set("GET /containers/job/logs", { status: 200, body: frame(printed) });
  replies.set("DELETE /containers/job", { status: 204 });
}

async function catchFailure(running: Promise<unknown>): Promise<PlatformError> {
  const failure: unknown = await running.catch((error: unknown) => error);
  if (failure instanceof PlatformError) return failure;
  throw new Error(`expected a PlatformError, got ${String(failure)}`);
}

describe("a Docker engine", () => {
  it("is queried without an API version, so that newer ones respond too", async () => {
    replies.set("GET /containers/node/json", { status: 200, body: container(true, "") });
    await engine.inspect("node");
    expect(requests).toEqual(["GET /containers/node/json"]);
  });

  it("runs a job to completion and removes it", async () => {
    replyToJob(0, "done\n");
    expect(await engine.run(job)).toBe("done\n");
    expect(requests.at(-1)).toBe("DELETE /containers/job");
  });

  it("removes a job that exceeds its time limit, and does not retry it", async () => {
    replyToJob();
    const { message, kind } = await catchFailure(engine.run({ ...job, withinMs: 200 }));
    expect([message, kind]).toEqual(["job did not finish within 200 ms, and was removed", "failed"]);
    expect(requests.at(-1)).toBe("DELETE /containers/job");
  });

  it("removes the job of a killed run, but leaves a running job of a different upgrade alone", async () => {
    replyToJob(0);
    replies.set("GET /containers/job/json", { status: 200, body: container(true, "mine") });
    await engine.run(job);
    expect(requests.slice(0, 3)).toEqual([
      "GET /containers/job/json",
      "DELETE /containers/job",
      "POST /containers/create",
    ]);
    requests = [];
    replies.set("GET /containers/job/json", { status: 200, body: container(true, "theirs") });
    const { message, kind } = await catchFailure(engine.run(job));
    expect(message).toBe("job runs for another upgrade (theirs); wait for it to exit");
    expect([kind, requests]).toEqual(["waits", ["GET /containers/job/json"]]);
  });

  it("explains what to do about an image without the job's binary", async () => {
    replyToJob(1, "Error: Cannot find module '/app/work.ts'\n\nNode.js v26.0.0\n");
    expect((await catchFailure(engine.run(job))).message).toBe(
      "the stack's Gatehouse image is from an earlier release, without /app/work.ts: run pulumi up with this release first",
    );
  });
});

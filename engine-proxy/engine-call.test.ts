import { assert, constantFrom, property, stringMatching } from "fast-check";
import { describe, expect, it } from "vitest";
import { decideEngineCall } from "./engine-call.ts";

const known = "ab".repeat(32);
const rules = {
  container: "gh-node",
  nodeCli: "node_cli",
  binDirectory: "/data/bin",
  configArgument: "./node.conf",
  stopTimeoutMaxSeconds: 300,
  isKnownExec: (id: string) => id === known,
};
const decide = (method: string, url: string, body: unknown = "") =>
  decideEngineCall({ method, url, body: typeof body === "string" ? body : JSON.stringify(body) }, rules);
const exec = (...command: string[]) => decide("POST", "/v1.41/containers/gh-node/exec", { Cmd: command });

describe("the engine proxy allows", () => {
  it("inspecting the container", () => {
    expect(decide("GET", "/v1.41/containers/gh-node/json")).toEqual({
      call: { kind: "inspect", method: "GET", path: "/v1.41/containers/gh-node/json", body: undefined },
    });
  });

  it.each(["/containers/gh-node/restart", "/v1.41/containers/gh-node/restart?t=300"])("the restart %s", (url) => {
    expect(decide("POST", url)).toEqual({ call: { kind: "restart", method: "POST", path: url, body: undefined } });
  });

  it.each([
    [["./node_cli", "prune", "--c", "./node.conf", "--get"]],
    [["./node_cli", "prune", "--c", "./node.conf", "--enable_auto_prune"]],
    [["./node_cli", "prune", "--get"]],
    [["./node_cli", "--version"]],
  ])("the command line %j", (command) => {
    expect(exec(...command)).toMatchObject({ call: { kind: "exec-create" } });
  });

  it.each([{}, { WorkingDir: "/data/bin" }])(
    "an exec built from checked values, without extra privileges: %j",
    (more) => {
      const decision = decide("POST", "/containers/gh-node/exec", {
        Cmd: ["./node_cli", "--version"],
        AttachStdout: true,
        ...more,
      });
      if (!("call" in decision)) throw new Error(decision.rejected);
      expect(JSON.parse(decision.call.body ?? "")).toEqual({
        Cmd: ["./node_cli", "--version"],
        WorkingDir: "/data/bin",
        AttachStdin: false,
        AttachStdout: true,
        AttachStderr: true,
        Tty: false,
        Privileged: false,
      });
    },
  );

  it("starting and inspecting an exec created through it", () => {
    expect(decide("POST", `/exec/${known}/start`, { Detach: false, Tty: false })).toMatchObject({
      call: { kind: "exec-start" },
    });
    expect(decide("GET", `/v1.41/exec/${known}/json`)).toMatchObject({ call: { kind: "exec-inspect" } });
  });
});

const cli = ["./node_cli", "prune", "--get"];

const words = (text: string) => text.split(" ");
const methods = words("GET HEAD POST PUT DELETE PATCH OPTIONS");
const actions = words("stop kill start pause rename update attach resize export logs top archive");
const containers = words("gh-sidecar gh-node2 gh-nod GH-NODE gh-node%00 gh-node/../gh-sidecar ..%2fgh-sidecar");

/** Commands other than the node's own. */
const commands: readonly (readonly string[])[] = [
  ["sh", "-c", "id"],
  ["./node_cli"],
  ["./node_cli", "prune"],
  ["./node_cli", "prune", "--disable"],
  ["./node_cli", "prune", "--c", "--get", "--get"],
  ["/data/../tmp/node_cli", "prune", "--get"],
  ["/tmp/not_node_cli", "prune", "--get"],
  ...words("node_cli /data/bin/node_cli /data/evil/node_cli ./bin/node_cli ././node_cli").map((program) => [
    program,
    "--version",
  ]),
  ...words("../../etc/passwd $(id) /data/bin/node.conf ./node.conf2 ./evil.conf /etc/shadow node.conf").map((path) => [
    "./node_cli",
    "prune",
    "--c",
    path,
    "--get",
  ]),
];

const execs: readonly unknown[] = [
  ...commands.map((Cmd) => ({ Cmd })),
  ...["/data", "/data/bin/", "/data/evil", "/data/bin/../evil", "/", "", "relative"].map((WorkingDir) => ({
    Cmd: cli,
    WorkingDir,
  })),
  { Cmd: cli, User: "root" },
  { Cmd: cli, Privileged: true },
  { Cmd: cli, Env: ["LD_PRELOAD=/x.so"] },
  { Cmd: cli, AttachStdin: true },
  { Cmd: cli, Tty: true },
  { Cmd: cli.join(" ") },
  "{",
  "",
];

/** Calls that would expose the host, another container, or more of this container. */
const forbidden: readonly (readonly [request: string, body?: unknown])[] = [
  ...methods.flatMap((method) =>
    words("/ /info /version /_ping /events /images/json /containers/json").map((url) => [`${method} ${url}`] as const),
  ),
  ...actions.flatMap((action) =>
    ["GET", "POST"].map((method) => [`${method} /v1.41/containers/gh-node/${action}`] as const),
  ),
  ...containers.flatMap((name) => [
    [`GET /containers/${name}/json`] as const,
    [`POST /containers/${name}/restart`] as const,
  ]),
  ["POST /containers/create", { Image: "x", HostConfig: { Privileged: true } }],
  ["DELETE /containers/gh-node"],
  ["POST /build"],
  ["POST /images/create?fromImage=x"],
  ["POST /volumes/create", {}],
  ["POST /networks/create", {}],
  ["POST /swarm/init", {}],
  ["GET /secrets"],
  ["POST /session"],
  ["GET http://docker/containers/gh-node/json"],
  ["GET //containers/gh-node/json"],
  ["GET /v1.41//containers/gh-node/json"],
  ["GET /v1.41/../containers/gh-node/json"],
  ["GET /v9.99/containers/gh-node/json"],
  ["GET /containers/gh-node/json?size=true"],
  ["GET /containers/gh-node/json?a?b"],
  ...["t=301", "t=-1", "signal=SIGKILL", "t=1&signal=SIGKILL"].map(
    (query) => [`POST /containers/gh-node/restart?${query}`] as const,
  ),
  ...execs.map((body) => ["POST /containers/gh-node/exec", body] as const),
  ["POST /containers/gh-node/exec?x=1", { Cmd: cli }],
  [`POST /exec/${"cd".repeat(32)}/start`, {}],
  [`GET /exec/${"cd".repeat(32)}/json`],
  [`POST /exec/${known}/resize?h=1&w=1`],
  [`POST /exec/${known}/start`, { Detach: true }],
  [`POST /exec/${known}/start`, { Tty: true }],
  [`DELETE /exec/${known}/json`],
  [`GET /exec/${known}/start`],
];

describe("the engine proxy rejects", () => {
  it.each(forbidden.map(([request, body]) => ({ request, body })))("$request $body", ({ request, body }) => {
    const [method = "", url = ""] = words(request);
    expect(decide(method, url, body)).toHaveProperty("rejected");
  });

  it("every request whose path specifies a different container", () => {
    const name = stringMatching(/^[a-zA-Z0-9_.%/-]{1,40}$/).filter((text) => text !== "gh-node");
    const action = constantFrom("json", "restart", "exec");
    assert(
      property(name, action, constantFrom("GET", "POST"), (container, what, method) => {
        expect(decide(method, `/v1.41/containers/${container}/${what}`, { Cmd: cli })).toHaveProperty("rejected");
      }),
    );
  });
});

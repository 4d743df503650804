/** A call that must not reach the engine: its request line's parts, headers besides Host, and a body. */
export type ForbiddenCall = Readonly<{
  method: string;
  target: string;
  headers?: readonly string[];
  body?: string;
  /** A body of so many bytes instead of `body`. */
  bodyBytes?: number;
}>;

/** Targets of the calls: the node's container, another one of the stack, and the image of a container to create. */
export type Targets = Readonly<{ node: string; other: string; image: string }>;

/** Ways to the host, to other containers or to more of the node's container than the engine proxy is for. */
export function listForbiddenCalls({ node, other, image }: Targets): readonly ForbiddenCall[] {
  return [
    ...listEngineWideCalls(image),
    ...listOtherActions(node),
    ...listCallsOfOtherContainers(node, other),
    ...listExecs(node, other),
    ...listDisguisedCalls(node, other),
    ...listOtherProtocols(node),
  ];
}

const json = (value: unknown) => JSON.stringify(value);
const post = (target: string, value: unknown): ForbiddenCall => ({ method: "POST", target, body: json(value) });
const bare = (method: string, ...targets: readonly string[]): readonly ForbiddenCall[] =>
  targets.map((target) => ({ method, target }));

/** Lists calls about the engine's other resources, and about containers as a whole. */
function listEngineWideCalls(image: string): readonly ForbiddenCall[] {
  const create = { Image: image, HostConfig: { Binds: ["/:/host"], Privileged: true, PidMode: "host" } };
  return [
    ...bare(
      "GET",
      "/",
      "/_ping",
      "/info",
      "/version",
      "/events",
      "/system/df",
      "/containers/json",
      "/containers/json?all=1",
    ),
    ...bare(
      "GET",
      "/images/json",
      "/volumes",
      "/networks",
      "/secrets",
      "/configs",
      "/services",
      "/tasks",
      "/nodes",
      "/plugins",
    ),
    ...bare(
      "GET",
      "/swarm",
      "/distribution/x/json",
      `/images/${encodeURIComponent(image)}/json`,
      `/images/${image}/get`,
    ),
    ...bare("HEAD", "/_ping"),
    ...bare("OPTIONS", "/containers/json", "*"),
    ...bare("POST", "/build", "/build/prune", "/images/create?fromImage=x", "/images/load", "/images/prune", "/commit"),
    ...bare("POST", "/containers/prune", "/volumes/prune", "/networks/prune", "/auth", "/session", "/grpc"),
    post("/containers/create", create),
    post("/v1.41/containers/create?name=evil", create),
    post("/volumes/create", { Name: "evil" }),
    post("/networks/create", { Name: "evil" }),
    post("/swarm/init", { ListenAddr: "0.0.0.0:2377" }),
    post("/plugins/pull?remote=x", []),
    ...bare("DELETE", `/images/${encodeURIComponent(image)}`, "/volumes/evil", "/networks/bridge"),
  ];
}

/** Lists the other actions on the node's container that the engine knows. */
function listOtherActions(node: string): readonly ForbiddenCall[] {
  const at = `/v1.41/containers/${node}`;
  return [
    ...bare(
      "POST",
      `${at}/stop`,
      `${at}/start`,
      `${at}/kill`,
      `${at}/kill?signal=KILL`,
      `${at}/pause`,
      `${at}/unpause`,
    ),
    ...bare("POST", `${at}/rename?name=evil`, `${at}/resize?h=1&w=1`, `${at}/attach?stream=1&stdin=1`, `${at}/wait`),
    ...bare("GET", `${at}/logs?stdout=1`, `${at}/top`, `${at}/stats?stream=0`, `${at}/changes`, `${at}/export`),
    ...bare("GET", `${at}/archive?path=/`, `${at}/attach/ws`),
    ...bare("HEAD", `${at}/archive?path=/`, `${at}/json`),
    ...bare("PUT", `${at}/archive?path=/data`),
    ...bare("DELETE", at, `${at}?force=1`, `${at}/json`),
    ...bare("PUT", `${at}/json`, `${at}/restart`),
    ...bare("PATCH", at, `${at}/json`),
    post(`${at}/update`, { Memory: 0, RestartPolicy: { Name: "no" } }),
    ...bare("GET", `${at}/json?size=1`, `${at}/restart`),
    ...bare(
      "POST",
      `${at}/restart?t=301`,
      `${at}/restart?t=-1`,
      `${at}/restart?signal=KILL`,
      `${at}/restart?t=1&t=999`,
    ),
  ];
}

/** Lists the allowed actions on another container, named in many ways. */
function listCallsOfOtherContainers(node: string, other: string): readonly ForbiddenCall[] {
  const names = [other, `${node}2`, node.slice(0, -1), node.toUpperCase(), `${node}%00`, `${node}%20`, "*", ""];
  const paths = [`${node}/../${other}`, `${node}/..%2f${other}`, `..%2f..%2finfo`, `%2e%2e/${other}`, `./${other}`];
  return [...names, ...paths].flatMap((name) => [
    ...bare("GET", `/containers/${name}/json`),
    ...bare("POST", `/containers/${name}/restart`),
  ]);
}

/** Lists commands, and rights of commands, that are not the node's own tool. */
function listExecs(node: string, other: string): readonly ForbiddenCall[] {
  const at = `/v1.41/containers/${node}/exec`;
  const tool = ["./node_cli", "prune", "--get"];
  const commands = [
    ["sh", "-c", "id"],
    ["/bin/sh", "./node_cli", "prune", "--get"],
    ["node", "-e", "1"],
    ["env", "./node_cli", "--version"],
    ["./node_cli"],
    ["./node_cli", "prune", "--delete"],
    ["./node_cli", "--version", "--get"],
    ["../node_cli", "--version"],
    ["/tmp/../bin/sh", "--version"],
    ["./node_cli;id", "--version"],
    ["./node_cli", "prune", "--c", "/etc/../root/x", "--get"],
    ["./node_cli", "prune", "--c", "$(id)", "--get"],
    ["node_cli", "--version"],
    ["/data/bin/node_cli", "--version"],
    ["/data/data/node_cli", "--version"],
    ["./node_cli", "prune", "--c", "/data/data/node.conf", "--get"],
  ];
  const rights = [
    { Privileged: true },
    { User: "0" },
    { User: "" },
    { Env: ["NODE_OPTIONS=--require=/data/evil.cjs"] },
    { AttachStdin: true },
    { Tty: true },
    { WorkingDir: "data" },
    { WorkingDir: "/data" },
    { WorkingDir: "/data/data" },
    { WorkingDir: "/data/bin/../data" },
    { DetachKeys: "ctrl-a" },
    { Cmd: "./node_cli --version" },
    { Cmd: [...tool, 1] },
    { cmd: ["sh"] },
  ];
  return [
    ...commands.map((Cmd) => post(at, { Cmd })),
    ...rights.map((more) => post(at, { Cmd: tool, ...more })),
    post(`/containers/${other}/exec`, { Cmd: tool }),
    post(`${at}?x=1`, { Cmd: tool }),
    { method: "POST", target: at, body: "{" },
    { method: "POST", target: at, body: `[${json({ Cmd: tool })}]` },
    { method: "POST", target: at, bodyBytes: 17_000 },
    { method: "POST", target: at, bodyBytes: 1_000_000 },
    post(`/exec/${"ab".repeat(32)}/start`, {}),
    ...bare("GET", `/exec/${"ab".repeat(32)}/json`),
    ...bare("POST", `/exec/${"ab".repeat(32)}/resize?h=1&w=1`),
  ];
}

/** Lists allowed calls written so that a lenient reader would see something else. */
function listDisguisedCalls(node: string, other: string): readonly ForbiddenCall[] {
  return bare(
    "GET",
    `http://docker/containers/${other}/json`,
    `http://docker/containers/${node}/json`,
    `//containers/${node}/json`,
    `/containers//${node}/json`,
    `/containers/${node}//json`,
    `/containers/${node}/json/`,
    `/containers/${node}/json/../../${other}/json`,
    `/containers/${node}%2fjson`,
    `/containers%2f${node}%2fjson`,
    `/%63ontainers/${node}/json`,
    `/v1.41/v1.41/containers/${node}/json`,
    `/v1.41/../containers/${other}/json`,
    `/v2.0/containers/${node}/json`,
    `/v1/containers/${node}/json`,
    `/v1.4100/containers/${node}/json`,
    `/V1.41/containers/${node}/json`,
    `/containers/${node}/json#/../../${other}/json`,
    `/containers/${node}/json;x`,
    `/containers/${node}/json?`.concat("&x=1"),
    `/containers/${node}/json??`,
    `/Containers/${node}/json`,
    `/containers/${node}/JSON`,
    `/containers/${"x".repeat(2_000)}/json`,
  );
}

/** Lists calls of other protocols over the same connection. */
function listOtherProtocols(node: string): readonly ForbiddenCall[] {
  const upgrade = ["Connection: Upgrade", "Upgrade: tcp"];
  return [
    { method: "POST", target: `/containers/${node}/attach?stream=1`, headers: upgrade },
    { method: "POST", target: "/session", headers: ["Connection: Upgrade", "Upgrade: h2c"] },
    { method: "GET", target: "/grpc", headers: ["Connection: Upgrade", "Upgrade: h2c"] },
    { method: "CONNECT", target: "docker:80" },
    { method: "PRI", target: "*" },
    { method: "TRACE", target: `/containers/${node}/json` },
    { method: "GET", target: "/containers/json", headers: ["X-HTTP-Method-Override: GET", "X-Original-URL: /_ping"] },
    { method: "POST", target: "/containers/create", headers: ["Expect: 100-continue"], body: "{}" },
  ];
}

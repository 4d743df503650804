import { describe, expect, it } from "vitest";
import {
  findUpdateInterruption,
  describeRemoval,
  describeReplacement,
  findWatched,
  type Notice,
  type Watched,
} from "./interruptions.ts";

const inputs = (image: string, replicas = 1) => ({
  spec: { replicas, template: { spec: { containers: [{ name: "node", image }] } } },
});
const container = "docker:index/container:Container";
const statefulSet = "kubernetes:apps/v1:StatefulSet";

describe("resources watched by a preview", () => {
  it.each([
    ["docker:index/container:Container", "gh-node", "node"],
    [statefulSet, "gh-node", "node"],
    ["docker:index/volume:Volume", "gh-node-workspace", "data"],
    ["docker:index/volume:Volume", "gh-postgres-data", "data"],
    ["kubernetes:core/v1:PersistentVolumeClaim", "gh-facilitator-ledger", "data"],
    ["kubernetes:core/v1:Namespace", "gh-namespace", "data"],
    ["docker:index/container:Container", "gh-sidecar", "service"],
    ["kubernetes:apps/v1:Deployment", "gh-facilitator", "service"],
    ["kubernetes:autoscaling/v2:HorizontalPodAutoscaler", "gh-facilitator", "service"],
    ["docker:index/container:Container", "gh-sidecar-live", "live"],
    ["docker:index/container:Container", "gh-facilitator-live", "live"],
    ["kubernetes:core/v1:Secret", "gh-resource-server-live", "live"],
    ["docker:index/container:Container", "gh-sidecar-secrets", "secrets"],
    ["kubernetes:core/v1:Secret", "gh-sidecar-secrets", "secrets"],
    ["docker:index/volume:Volume", "gh-sidecar-secrets", undefined],
    ["kubernetes:core/v1:Secret", "gh-resource-server-files", undefined],
    ["docker:index/volume:Volume", "gh-sidecar-live", undefined],
    ["docker:index/container:Container", "gh-facilitator-files", undefined],
    ["docker:index/container:Container", "gh-node-conf", undefined],
    ["docker:index/volume:Volume", "gh-node-files", undefined],
    ["docker:index/volume:Volume", "gh-postgres-files", undefined],
    ["gatehouse:index:Node", "gh-node", undefined],
  ] as const)("include %s %s as %s", (type, name, what) => {
    expect(findWatched(type, name)).toBe(what);
  });
});

const inputsBy = (image: string, type: string) => ({ spec: { ...inputs(image).spec, strategy: { type } } });
const ofDeployment = (service: string, was: string, is: string) =>
  findUpdateInterruption("kubernetes:apps/v1:Deployment", `gh-${service}`, {
    before: inputsBy("a", was),
    after: inputsBy("b", is),
  });
const ofNode = (after: unknown) => findUpdateInterruption(statefulSet, "gh-node", { before: inputs("a"), after });
const bounds = (minReplicas: number, maxReplicas: number) => ({ spec: { minReplicas, maxReplicas } });
const scale = (before: object, after: object) =>
  findUpdateInterruption("kubernetes:autoscaling/v2:HorizontalPodAutoscaler", "gh-facilitator", { before, after });

const secret = "kubernetes:core/v1:Secret";
const replaced = (what: Watched, name: string, changedFiles?: readonly string[]) =>
  describeReplacement(what, name, { type: container, changedFiles });
const updated = (name: string, ...changed: readonly string[]) =>
  findUpdateInterruption(secret, name, {
    before: { stringData: { "policy.json5": "a", "settings.json5": "a" } },
    after: {
      stringData: {
        "policy.json5": "a",
        "settings.json5": "a",
        ...Object.fromEntries(changed.map((file) => [file, "b"])),
      },
    },
  });
const settings = "settings.json5";
const sockets = "No request fails; WebSockets are closed once with 1001";
const hotRestart = `delivers a new ${settings}, which hot-restarts the sidecar`;

type Described = readonly [what: string, notice: Notice | undefined, level: Notice["level"], ...texts: string[]];

const described: readonly Described[] = [
  [
    "a replaced service, without the node",
    replaced("service", "gh-sidecar"),
    "warn",
    "gh-sidecar would be replaced: the gateway is down",
    "about 10 s",
    "The node keeps running",
  ],
  ["another replaced service", replaced("service", "gh-resource-server"), "warn", "nothing is sold"],
  [
    "a replaced node",
    replaced("node", "gh-node"),
    "warn",
    "gh-node would be replaced: the node stops",
    "Its data stays on its volume",
    "undo that change",
  ],
  [
    "a replaced volume",
    describeReplacement("data", "gh-node-workspace", { type: "docker:index/volume:Volume" }),
    "warn",
    "gh-node-workspace would be replaced, and its content, chain data or a ledger, lost.",
    "back up the data first",
  ],
  ...["policy.json5", "api-keys.json5"].flatMap((file) =>
    [replaced("live", "gh-sidecar-live", [file]), updated("gh-sidecar-live", file)].map(
      (notice) =>
        [
          `a new ${file}`,
          notice,
          "info",
          `gh-sidecar-live delivers a new ${file}, which is hot-reloaded: nothing stops, and no request`,
        ] as const,
    ),
  ),
  ["new settings on Docker", replaced("live", "gh-sidecar-live", [settings]), "info", hotRestart, sockets],
  ["new settings on Kubernetes", updated("gh-sidecar-live", settings), "info", hotRestart, sockets],
  [
    "a new policy with new settings",
    updated("gh-sidecar-live", "policy.json5", settings),
    "info",
    `delivers a new policy.json5, ${settings}, which hot-restarts the sidecar`,
  ],
  [
    "new settings of the facilitator",
    replaced("live", "gh-facilitator-live", [settings]),
    "info",
    "which hot-restarts the facilitator: a new process accepts requests before the old one exits. No request fails; settlements",
  ],
  [
    "new settings of the resource server",
    replaced("live", "gh-resource-server-live", [settings]),
    "info",
    "which hot-restarts the resource server: a new process accepts requests before the old one exits. No request fails; the old",
  ],
  ...[replaced("secrets", "gh-sidecar-secrets"), updated("gh-sidecar-secrets")].map(
    (notice) =>
      [
        "secrets",
        notice,
        "info",
        "gh-sidecar-secrets updates the sidecar's secrets; a changed one hot-restarts",
        sockets,
      ] as const,
  ),
  ...[replaced("live", "gh-sidecar-live"), updated("gh-sidecar-live")].map(
    (notice) => ["unknown changes", notice, "info", "nothing stops", `${settings} hot-restarts`] as const,
  ),
  [
    "a rolled Deployment",
    ofDeployment("facilitator", "RollingUpdate", "RollingUpdate"),
    "info",
    "a new pod is ready before an old one stops",
  ],
  [
    "a Deployment with its ledger on a volume",
    ofDeployment("facilitator", "Recreate", "Recreate"),
    "warn",
    "gh-facilitator would recreate its pod because of spec.template",
    "payments get 503",
    "because its ledger is on a volume. With databaseUrl",
  ],
  [
    "a ledger moved from the database to a file",
    ofDeployment("facilitator", "RollingUpdate", "Recreate"),
    "warn",
    "its ledger is on a volume.",
    "run `kubectl delete horizontalpodautoscaler facilitator` first.",
  ],
  [
    "a Deployment with another volume",
    ofDeployment("pushgateway", "Recreate", "Recreate"),
    "warn",
    "the node's metrics are missing",
    "because only one pod at a time can mount its volume.",
  ],
  [
    "a changed number of pods",
    scale(bounds(2, 6), bounds(3, 3)),
    "info",
    "gh-facilitator would have 3 pods instead of 2 to 6 pods: pods are started or stopped, and the others keep serving.",
  ],
  [
    "a changed pod template of the node",
    ofNode(inputs("b")),
    "warn",
    "gh-node would recreate its pod because of spec.template.spec.containers[0].image: the node stops",
  ],
  ["an unknown pod template", ofNode({ spec: { template: undefined } }), "warn", "because of spec.template:"],
];

it.each(described.map((row) => [row[0], row] as const))(
  "describes the effects of %s",
  (_, [, notice, level, ...texts]) => {
    expect(notice?.level).toBe(level);
    for (const text of texts) expect(notice?.text).toContain(text);
  },
);

it.each([
  ["an unchanged number of pods", scale(bounds(2, 6), bounds(2, 6))],
  ["a changed replica count of the node's StatefulSet", ofNode(inputs("a", 2))],
  ["files whose changes interrupt nothing", updated("gh-sidecar-files")],
  [
    "a container updated in place",
    findUpdateInterruption(container, "gh-node", { before: { memory: 1 }, after: { memory: 2 } }),
  ],
])("reports nothing for %s", (_, notice) => {
  expect(notice).toBeUndefined();
});

it("warns of a removed node or ledger, but not of another service", () => {
  expect(describeRemoval("gh-node")).toMatch(/^gh-node would be removed: the node stops and is not restarted/);
  expect(describeRemoval("gh-facilitator-ledger")).toMatch(/^gh-facilitator-ledger would be removed, .* lost, unless/);
  expect(describeRemoval("gh-upstream")).toBeUndefined();
});

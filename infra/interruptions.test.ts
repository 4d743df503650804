import { describe, expect, it } from "vitest";
import {
  findUpdateInterruption,
  describeMovedConf,
  describeRemoval,
  describeReplacement,
  findWatched,
  type Notice,
} from "./interruptions.ts";

const inputs = (image: string, replicas = 1) => ({
  spec: { replicas, template: { spec: { containers: [{ name: "node", image }] } } },
});
const container = "docker:index/container:Container";
const statefulSet = "kubernetes:apps/v1:StatefulSet";

describe("what a preview watches over", () => {
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
  ] as const)("%s %s: %s", (type, name, what) => {
    expect(findWatched(type, name)).toBe(what);
  });
});

const inputsBy = (image: string, type: string) => ({ spec: { ...inputs(image).spec, strategy: { type } } });
const ofDeployment = (type: string, service = "facilitator") =>
  findUpdateInterruption("kubernetes:apps/v1:Deployment", `gh-${service}`, {
    before: inputsBy("a", type),
    after: inputsBy("b", type),
  });

const bounds = (minReplicas: number, maxReplicas: number) => ({ spec: { minReplicas, maxReplicas } });
const scale = (before: object, after: object) =>
  findUpdateInterruption("kubernetes:autoscaling/v2:HorizontalPodAutoscaler", "gh-facilitator", { before, after });

it("says of a ledger that moves from the database to a file how to keep a second pod from it", () => {
  const notice = findUpdateInterruption("kubernetes:apps/v1:Deployment", "gh-facilitator", {
    before: inputsBy("a", "RollingUpdate"),
    after: inputsBy("b", "Recreate"),
  });
  expect(notice?.text).toMatch(
    /its ledger is on a volume.* run `kubectl delete horizontalpodautoscaler facilitator` first\.$/,
  );
});

it("says of another number of pods how many there will be, and nothing where it stays", () => {
  expect(scale(bounds(2, 6), bounds(3, 3))).toEqual({
    level: "info",
    text: "gh-facilitator would have 3 pods instead of 2 to 6 pods: pods are started or stopped, and the others keep serving.",
  });
  expect(scale(bounds(2, 6), bounds(2, 6))).toBeUndefined();
});

/** The text of a warning; undefined for an info message. */
const warned = (notice: Notice | undefined) => (notice?.level === "warn" ? notice.text : undefined);

describe("what it says", () => {
  it("of a service's container: what is away, for about how long, and that the node runs on", () => {
    expect(warned(describeReplacement("service", "gh-sidecar", { type: container }))).toMatch(
      /^gh-sidecar would be replaced: the gateway is down.* about 10 s.*The node keeps running/,
    );
    expect(warned(describeReplacement("service", "gh-resource-server", { type: container }))).toContain(
      "nothing is sold",
    );
  });

  const secret = "kubernetes:core/v1:Secret";
  const brought = (...files: readonly string[]) => [
    describeReplacement("live", "gh-sidecar-live", { type: container, changedFiles: files }),
    findUpdateInterruption(secret, "gh-sidecar-live", {
      before: { stringData: { "policy.json5": "a", "settings.json5": "a" } },
      after: {
        stringData: {
          "policy.json5": "a",
          "settings.json5": "a",
          ...Object.fromEntries(files.map((file) => [file, "b"])),
        },
      },
    }),
  ];

  it("of files that a service reads while it runs: that nothing stops", () => {
    for (const file of ["policy", "api-keys"]) {
      for (const notice of brought(`${file}.json5`)) {
        expect(notice?.level).toBe("info");
        expect(notice?.text).toMatch(
          new RegExp(`^gh-sidecar-live delivers a new ${file}\\.json5, which .*nothing stops, and no request`),
        );
      }
    }
  });

  it("of settings by which the sidecar is handed over: that no request fails, and what becomes of WebSockets", () => {
    for (const files of [["settings.json5"], ["policy.json5", "settings.json5"]]) {
      for (const notice of brought(...files)) {
        expect(notice?.level).toBe("info");
        expect(notice?.text).toContain(`delivers a new ${files.join(", ")}, which hot-restarts the sidecar`);
        expect(notice?.text).toMatch(/No request fails; WebSockets are closed once with 1001/);
      }
    }
  });

  it("of settings by which the facilitator or the resource server is handed over: that no request fails", () => {
    for (const [service, said] of [
      ["facilitator", "hot-restarts the facilitator"],
      ["resource-server", "hot-restarts the resource server"],
    ] as const) {
      const changedFiles = ["settings.json5"];
      const notice = describeReplacement("live", `gh-${service}-live`, { type: container, changedFiles });
      expect(notice?.level).toBe("info");
      expect(notice?.text).toContain(`delivers a new settings.json5, which ${said}`);
      expect(notice?.text).toMatch(/No request fails;/);
      expect(notice?.text).not.toContain("WebSockets");
    }
  });

  it("of the sidecar's secrets: that a changed one hands it over, and no request fails", () => {
    const found = [
      describeReplacement("secrets", "gh-sidecar-secrets", { type: container }),
      findUpdateInterruption(secret, "gh-sidecar-secrets", { before: {}, after: {} }),
    ];
    for (const notice of found) {
      expect(notice).toMatchObject({
        level: "info",
        text: expect.stringMatching(/^gh-sidecar-secrets updates .* hot-restarts the sidecar: .*No request fails/),
      });
    }
  });

  it("of files of which nobody knows what changed in them: both", () => {
    const found = [
      describeReplacement("live", "gh-sidecar-live", { type: container }),
      findUpdateInterruption(secret, "gh-sidecar-live", { before: {}, after: {} }),
    ];
    for (const notice of found) {
      expect(notice).toMatchObject({
        level: "info",
        text: expect.stringMatching(/nothing stops.*settings\.json5 hot-restarts/),
      });
    }
    expect(findUpdateInterruption(secret, "gh-sidecar-files", { before: {}, after: {} })).toBeUndefined();
  });

  it("of a Deployment: that it is rolled, or away where its ledger is on a volume", () => {
    expect(ofDeployment("RollingUpdate")).toMatchObject({
      level: "info",
      text: expect.stringContaining("a new pod is ready before an old one stops"),
    });
    expect(warned(ofDeployment("Recreate"))).toMatch(
      /^gh-facilitator would recreate its pod because of .*: payments get 503.* its ledger .*databaseUrl/,
    );
    const ofPushgateway = warned(ofDeployment("Recreate", "pushgateway"));
    expect(ofPushgateway).toMatch(
      /: the node's metrics are missing .*, because only one pod at a time can mount its volume\.$/,
    );
  });

  it("of a replacement: what ends, what is kept, what to do", () => {
    expect(warned(describeReplacement("node", "gh-node", { type: container }))).toMatch(
      /^gh-node would be replaced: the node stops.*Its data stays on its volume.*undo that change/,
    );
    expect(warned(describeReplacement("data", "gh-node-workspace", { type: "docker:index/volume:Volume" }))).toMatch(
      /^gh-node-workspace would be replaced, .* lost\. .*back up the data first/,
    );
  });

  it("of what is in the program no more", () => {
    expect(describeRemoval("gh-node")).toMatch(/^gh-node would be removed: the node stops and is not restarted/);
    expect(describeRemoval("gh-facilitator-ledger")).toMatch(
      /^gh-facilitator-ledger would be removed, .* lost, unless/,
    );
    expect(describeRemoval("gh-upstream")).toBeUndefined();
  });

  it("of a StatefulSet whose pod's template changes, with what changes in it", () => {
    const found = (after: unknown) => findUpdateInterruption(statefulSet, "gh-node", { before: inputs("a"), after });
    expect(warned(found(inputs("b")))).toMatch(
      /^gh-node would recreate its pod because of spec\.template\.spec\.containers\[0\]\.image: the node stops/,
    );
    expect(found(inputs("a", 2))).toBeUndefined();
    expect(found({ spec: { template: undefined } })?.text).toContain("because of spec.template:");
  });

  it("nothing of containers that are changed in place", () => {
    const change = { before: { memory: 1 }, after: { memory: 2 } };
    expect(findUpdateInterruption("docker:index/container:Container", "gh-node", change)).toBeUndefined();
  });
});

describe("a stack of a release whose node ran from its volume", () => {
  const node = "gh-node";

  it("learns once, before its node.conf moves, that nothing of it is lost", () => {
    const notice = describeMovedConf({ node, deployed: [node], published: undefined });
    expect(notice).toContain("the old file stays but is no longer read. Chain data stays in place");
    expect(describeMovedConf({ node, deployed: [], published: undefined })).toBeUndefined();
    expect(describeMovedConf({ node, deployed: [node], published: "/data/conf/node.conf" })).toBeUndefined();
  });
});

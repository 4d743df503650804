import { expect, test } from "vitest";
import type { NodeIdentity } from "./node-identity.ts";
import { nodeDifference } from "./same-node.ts";

const node: NodeIdentity = {
  configPath: "/srv/a/bin/node.conf",
  namedPath: "/srv/a/bin/node.conf",
  dataPath: "/srv/a/data",
  chainId: 1_672,
  host: { kind: "machine", name: "one" },
};

const facts = { movedFrom: undefined, layouts: [], isThere: () => true };

test.each<[string, Partial<NodeIdentity>, Partial<NodeIdentity>, string]>([
  ["another chain", {}, { chainId: 1 }, "chain"],
  ["another data path behind the same node.conf", {}, { dataPath: "/srv/b/data" }, "data path"],
  ["another node.conf", {}, { configPath: "/srv/b/node.conf", namedPath: "/srv/b/node.conf" }, "node.conf"],
  [
    "another node.conf, whose data are not known",
    {},
    { configPath: "/srv/b/node.conf", namedPath: "/srv/b/node.conf", dataPath: undefined },
    "node.conf",
  ],
  [
    "the neighbour in a StatefulSet",
    { host: { kind: "pod", name: "node-0" } },
    { host: { kind: "pod", name: "node-1" } },
    "host",
  ],
  [
    "another container on the same paths",
    { host: { kind: "container", name: "a-node" } },
    { host: { kind: "container", name: "b-node" } },
    "host",
  ],
])("%s is another node, until the move is said", (_, before, change, what) => {
  const remembered = { ...node, ...before };
  const found = { ...remembered, ...change };
  const difference = nodeDifference(remembered, found, facts);
  expect(difference?.what).toBe(what);
  expect(nodeDifference(remembered, found, { ...facts, movedFrom: difference?.remembered })).toBeUndefined();
  // What was said of one move says nothing of the next.
  const next = { ...found, chainId: 99 };
  expect(nodeDifference(found, next, { ...facts, movedFrom: difference?.remembered })?.what).toBe("chain");
});

test.each<[string, Partial<NodeIdentity>, Partial<NodeIdentity>, Partial<typeof facts>]>([
  ["itself", {}, {}, {}],
  ["with a container's new host name", {}, { host: { kind: "machine", name: "f3a9" } }, {}],
  [
    "in a Deployment's new pod",
    { host: { kind: "pod", name: "node-7d9c-24567" } },
    { host: { kind: "pod", name: "node-7d9c-99245" } },
    {},
  ],
  ["behind a link that points elsewhere now", {}, { configPath: "/srv/a-2/bin/node.conf" }, {}],
  [
    "with a node.conf that was moved while its data stayed",
    {},
    { configPath: "/etc/node.conf", namedPath: "/etc/node.conf" },
    { isThere: () => false },
  ],
  ["with a node.conf that can't be read now", {}, { dataPath: undefined }, {}],
  ["whose expected chain was set wrong at first", { answeredChainId: 7 }, { chainId: 7 }, {}],
])("the same node: %s", (_, before, change, more) => {
  const remembered = { ...node, ...before };
  expect(nodeDifference(remembered, { ...remembered, ...change }, { ...facts, ...more })).toBeUndefined();
});

test("the layout of another version of the same workspace is the same node", () => {
  const legacy = "/srv/a/node/domain/client/bin/node.conf";
  const remembered = { ...node, configPath: legacy, namedPath: legacy };
  expect(nodeDifference(remembered, node, { ...facts, layouts: [legacy, node.configPath] })).toBeUndefined();
  expect(nodeDifference(remembered, node, facts)?.what).toBe("node.conf");
});

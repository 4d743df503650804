import { afterAll, beforeAll, describe } from "vitest";
import { hasPrometheus, withoutPrometheus } from "../support/prometheus/prometheus.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { startStack, type RunningStack } from "../support/running-stack.ts";
import { testForeignClients } from "./one-stack/foreign-clients.ts";
import { testKills } from "./one-stack/kills.ts";
import { testObserve } from "./one-stack/observe.ts";
import { testOverview } from "./one-stack/overview.ts";
import { testSecondNode } from "./one-stack/second-node.ts";
import { testStop } from "./one-stack/stop.ts";

/** One stack for all tests, in the order of its life, because starting it takes longer than most tests. */
describe("a stack", () => {
  let stack: RunningStack;
  let prometheusUrl = "";
  const running = () => stack;
  const besides = () => (hasPrometheus ? [`${prometheusUrl}/-/ready`] : []);
  beforeAll(async () => {
    const [prometheus = 0] = await findFreePorts(1);
    prometheusUrl = `http://127.0.0.1:${prometheus}`;
    const observed = hasPrometheus ? ["--observe", String(prometheus)] : [];
    stack = await startStack({}, observed);
  });
  afterAll(() => stack?.[Symbol.asyncDispose]());

  describe("is shown by its printed status command:", () => testOverview(running));
  describe.skipIf(!hasPrometheus)(`with --observe${withoutPrometheus}`, () =>
    testObserve(running, () => prometheusUrl),
  );
  describe("serves foreign clients:", () => testForeignClients(running));
  describe("restarts killed processes:", () => testKills(running));
  describe("stops, and leaves its folder to a second node's sidecar:", () =>
    testSecondNode(running, () => testStop(running, besides)));
});

import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import type { Browser, Page } from "playwright-core";
import { PNG } from "pngjs";
import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { createMask } from "#daemon/secrets/mask.ts";
import { startOverview } from "#sidecar/overview/overview.ts";
import type { DisplayedTarget } from "#sidecar/overview/target-watch.ts";
import { findChromium, startChromium } from "../../support/page/chromium.ts";
import { explainMissingFonts, takePicture, type PictureOptions } from "../../support/page/page-picture.ts";
import {
  otherStates,
  secondMs,
  serveDeadNode,
  serveRightNode,
  serveState,
  serveWaitingNode,
} from "../../support/page/page-states.ts";
import { comparePictures, tolerance } from "../../support/page/picture.ts";
import { takeSlice } from "../../support/run-size.ts";
import { servePage } from "../../support/page/served-page.ts";
import { waitForLevel } from "../../support/page/status-page.ts";
import { root } from "../../style/rooms.ts";

const acceptedPath = join(import.meta.dirname, "pictures");
/** Directory for pictures that differ from the accepted ones. */
const rejectedPath = join(root, "node_modules/.cache/pictures");
const acceptCommand =
  "GATEHOUSE_TEST_PICTURES=accept npx vitest run test/sidecar/page/page-pictures.integration.test.ts";
const isAccepting = process.env["GATEHOUSE_TEST_PICTURES"] === "accept";

/** Deadline for a page to show its state, even on a busy machine. */
const shownWithinMs = 60_000;

const executablePath = findChromium();
const browserTest = test.skipIf(executablePath === undefined);
const skipped = executablePath === undefined ? " (skipped: no chromium on PATH)" : "";

const resources = new AsyncDisposableStack();
let browser: Browser;
let missingFonts: string | undefined;

beforeAll(async () => {
  if (executablePath === undefined) return;
  browser = resources.use(await startChromium(executablePath)).browser;
  missingFonts = await explainMissingFonts(browser);
});

afterAll(() => resources.disposeAsync());

const desk = { look: "desk", width: 1_280, colorScheme: "light" } as const;
const phone = { look: "phone", width: 320, colorScheme: "dark" } as const;
type Look = typeof desk | typeof phone;

type ServedState = Pick<PictureOptions, "url" | "nowMs" | "ready" | "answers"> & AsyncDisposable;
type State = Readonly<{ name: string; serve: () => Promise<ServedState>; looks?: readonly Look[] }>;

type ServedNode = Awaited<ReturnType<typeof servePage>>;

/** The status page of a node, to be captured once its verdict has that level. */
function pageOf(node: Pick<ServedNode, "url" | "nowMs" | typeof Symbol.asyncDispose>, level: string): ServedState {
  return {
    url: node.url,
    nowMs: node.nowMs(),
    ready: (page) => waitForLevel(page, level, shownWithinMs),
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}

const at = "2026-03-04T12:00:00.000Z";
const target = {
  page: "http://127.0.0.1:9600/",
  answers: true,
  since: "2026-03-04T11:00:00.000Z",
  beganEarlier: false,
};
const targets: readonly DisplayedTarget[] = [
  {
    ...target,
    name: "node-7",
    level: "healthy",
    state: "Healthy",
    cause: "All 18 checks pass.",
    figures: {
      lastBlock: { height: 5_400_600, at, old: false },
      rpc: { latencyMs: 3, at, old: false },
      restarts: { left: 6, perHour: 6 },
    },
  },
  {
    ...target,
    name: "payments",
    level: "degraded",
    state: "Ready, with a fault",
    cause: "signer: The signer has 0.001 for gas, which lasts for some 20 settlements.",
    figures: {},
  },
  {
    ...target,
    name: "gone",
    level: "stale",
    state: "No answer",
    cause: "It can't be queried (ECONNREFUSED).",
    answers: false,
    figures: { lastBlock: { height: 5_399_100, at: target.since, old: true } },
  },
];

async function serveOverview(): Promise<ServedState> {
  const clock = { wallMs: () => Date.parse(at) };
  const overview = await startOverview(
    [],
    { host: "127.0.0.1", port: 0, setting: "-", allowedHosts: [] },
    { clock, log: pino({ level: "silent" }), mask: createMask() },
  );
  return {
    url: overview.url,
    nowMs: clock.wallMs(),
    ready: (page) => page.getByText("2 of 3 are not healthy.").waitFor(),
    answers: { "/overview": { at, targets } },
    [Symbol.asyncDispose]: () => overview[Symbol.asyncDispose](),
  };
}

/** A sidecar that stops while its page is open. */
async function serveOneThatGoes(): Promise<ServedState> {
  const node = await serveRightNode();
  const ready = async (page: Page) => {
    await waitForLevel(page, "healthy", shownWithinMs);
    await node[Symbol.asyncDispose]();
    await waitForLevel(page, "stale", shownWithinMs);
  };
  return { ...pageOf(node, "stale"), ready };
}

const states: readonly State[] = [
  { name: "healthy", serve: async () => pageOf(await serveRightNode(), "healthy"), looks: [desk, phone] },
  { name: "down", serve: async () => pageOf(await serveDeadNode(75 * secondMs), "down"), looks: [desk, phone] },
  { name: "waiting", serve: async () => pageOf(await serveWaitingNode(), "waiting") },
  ...otherStates.map((state) => ({
    name: state.name,
    serve: async () => pageOf(await serveState(state), state.level),
  })),
  { name: "knows-nothing", serve: async () => pageOf(await servePage({ watched: ["RpcResponding"] }), "unknown") },
  { name: "gone", serve: serveOneThatGoes },
  { name: "overview", serve: serveOverview, looks: [desk, phone] },
];
/**
 * A short run captures a third of the states that have a single layout; page-of-status.integration.test.ts tests their content, too.
 */
const [several, single] = [states.filter(({ looks }) => looks), states.filter(({ looks }) => !looks)];
const pictures = [...several, ...(isAccepting ? single : takeSlice(single, 3))].flatMap(
  ({ name, serve, looks = [desk] }) => looks.map((look) => ({ name, serve, ...look })),
);

/** Takes the picture of a state; if the fonts differ, skips the test with the reason. */
async function take(
  { skip }: TestContext,
  { serve, ...look }: State & Look,
  options: Pick<PictureOptions, "isAccepted"> = {},
) {
  if (missingFonts !== undefined) skip(missingFonts);
  await using state = await serve();
  return await takePicture(browser, { ...look, ...state, ...options });
}

async function readAccepted(file: string): Promise<PNG> {
  if (!existsSync(join(acceptedPath, file)))
    throw new Error(`no picture ${file}; look at the page, and accept it by: ${acceptCommand}`);
  return PNG.sync.read(await readFile(join(acceptedPath, file)));
}

browserTest.for(pictures)(`$name, $look: matches the accepted picture${skipped}`, async (picture, context) => {
  const file = `${picture.name}-${picture.look}.png`;
  if (isAccepting) {
    await mkdir(acceptedPath, { recursive: true });
    await writeFile(join(acceptedPath, file), PNG.sync.write(await take(context, picture), { colorType: 2 }));
    return;
  }
  const wanted = await readAccepted(file);
  const isAccepted = (shot: PNG) => comparePictures(shot, wanted).part <= tolerance.part;
  const seen = await take(context, picture, { isAccepted });
  const { part, difference } = comparePictures(seen, wanted);
  if (part <= tolerance.part) return;
  await mkdir(rejectedPath, { recursive: true });
  await writeFile(join(rejectedPath, file), PNG.sync.write(seen));
  await writeFile(join(rejectedPath, `difference-${file}`), PNG.sync.write(difference));
  expect.fail(
    `${(part * 100).toFixed(2)} % of the picture is off (${tolerance.part * 100} % may be): see ${rejectedPath}/{,difference-}${file}. If it is meant: ${acceptCommand}`,
  );
});

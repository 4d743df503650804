import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { generousMs } from "./daemon/testing/until.ts";
import { placeAmongPrograms, programsDirectory, programStarters } from "./test/support/programs/place.ts";
import { findScratchFolder } from "./test/support/scratch-folder.ts";

/**
 * The upkeep's tests, which run once more next to a node that is as rude as a node may be, and next to one of the public family (`sidecar/testing/node-profile.ts`). Not
 * test/sidecar/no-watches: no node runs there, it is about the kernel's watches.
 */
const upkeepTests = [
  "test/sidecar/upkeep/*.{integration,long}.test.ts",
  "test/sidecar/{adopt,another-node,faults,killed-at-each-step,metrics-arriving,restarts-at-night,upkeep-of-devnet}.{integration,long}.test.ts",
  "test/sidecar/upgrade/upgrade.integration.test.ts",
];

/** Tests whose size the variables of `long` set: a slice in `npm test`, all of it in `npm run test:long`. `npm run test:long` also makes the tests of pages start the clone's TypeScript. */
export const sizedTests = [
  "gateway/json-rpc/repeated-messages.test.ts",
  "test/cli/{exit-codes,masked-urls,workspace-copy}.integration.test.ts",
  "test/devnet/command/ops.integration.test.ts",
  "test/facilitator/{batches,crash,refund,signers}.integration.test.ts",
  "test/bounds/{engine-proxy,gateway-connections,gateway-websockets,overview,payments}.integration.test.ts",
  "test/gateway/listener/fast-path.integration.test.ts",
  "test/gateway/memory-bounds.integration.test.ts",
  "test/docs/command-blocks.e2e.test.ts",
  "test/infra/changed-secret.integration.test.ts",
  "test/ledger/{kill-points,replicas}.integration.test.ts",
  "test/resource-server/hot-restart/hot-restart.integration.test.ts",
  "test/sidecar/hot-restart/hot-restart.integration.test.ts",
  "test/facilitator/few-descriptors.integration.test.ts",
  "test/simulator/simulator.test.ts",
  "test/sidecar/{corrupt-data,faults,few-descriptors,killed-at-each-step,killed-while-claiming,no-descriptors,pharos-kills,restarts-at-night,silent-name-server,slow-gateway}.integration.test.ts",
  "test/sidecar/restore/restore.integration.test.ts",
  "test/sidecar/page/{page,page-of-status,page-pictures,overview}.integration.test.ts",
  "test/sidecar/upgrade/killed-while-upgrading.integration.test.ts",
];

/** Tests that send as many generated messages as `GATEHOUSE_FUZZ_RUNS` says. */
const fuzzTests = ["gateway/calls/message-handler.test.ts"];

const costlyTests = ["**/*.{integration,e2e,docker,long,package}.test.ts"];

/** An integration test that needs a process of its own: it replaces a module. */
const unsharedIntegrationTests = ["test/x402/one-line-scheme.integration.test.ts"];

const scratchFolder = findScratchFolder();

/**
 * Compile cache shared by every process that the tests start; otherwise each node would fill its own (see
 * `devnet/workspace/prepare-workspace.ts`).
 */
const places = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/tests"),
  ...(scratchFolder !== undefined && { TMPDIR: scratchFolder }),
};

/** Caches the compiled code of the packages that the tests themselves load. */
const setupFiles = [join(import.meta.dirname, "test/support/compile-cache.setup.ts")];

/**
 * Integration and e2e tests start programs that were compiled before (test/support/programs/), those that this process starts by the code under test,
 * too. The long projects start the repository's own files.
 */
const startsCompiled = {
  globalSetup: ["test/support/programs/programs.setup.ts"],
  env: { ...places, GATEHOUSE_TEST_PROGRAMS: programsDirectory },
};

/** `expect.poll` awaits what is certain to become true. */
const expect = { poll: { timeout: generousMs } };

const integration = { setupFiles, ...startsCompiled, expect, testTimeout: 120_000, hookTimeout: 120_000 };

const startCompiled = {
  name: "gatehouse-start-compiled",
  transform: (text: string, path: string) =>
    programStarters.some((file) => path === join(import.meta.dirname, file))
      ? placeAmongPrograms(text, path)
      : undefined,
};

/**
 * Node profiles with which the upkeep tests run again (`npm test` runs one file for each). Tests that need a node
 * reporting its release are skipped on profiles that report only a commit.
 */
const profiles = {
  strict: [],
  pharos: ["test/sidecar/upkeep/upkeep-{version,wrong-version}.integration.test.ts", "test/sidecar/upgrade/upgrade.*"],
};
const fiveMinutes = { expect, testTimeout: 300_000, hookTimeout: 300_000 };
const long = {
  ...places,
  GATEHOUSE_TEST_LONG: "yes",
  GATEHOUSE_TEST_KILL_STRIDE: "1",
  GATEHOUSE_TEST_DESCRIPTORS_SECONDS: "120",
  GATEHOUSE_FUZZ_RUNS: "50000",
  GATEHOUSE_TEST_CRASHES: "1000000",
};

/** Tests that need a Docker engine. Most of the time such a test waits for the engine, or for a service to start. */
const docker = {
  include: ["**/*.docker.test.ts"],
  globalSetup: ["test/infra/test-images.setup.ts"],
  ...fiveMinutes,
};

/** Tests that measure the duration of requests, which other files' services would lengthen. */
const aloneOnEngine = ["test/attack/*.docker.test.ts"];

/** Created when a stack runs; these directories may contain files that look like tests. */
const elsewhere = ["node_modules/**", ".gatehouse/**", "dist/**"];

/**
 * A test file's name says its cost: `*.test.ts` is a unit test and stands next to its code, or in test/ where it is about several files, `*.integration.test.ts`
 * starts real services on free ports, `*.e2e.test.ts` runs the commands that a person types, `*.docker.test.ts` needs a Docker
 * engine, `*.package.test.ts` packs and installs, and `*.long.test.ts` takes minutes. `npm test` runs the first three, and one upkeep test file against a strict node and one against a node of the public family (`integration-strict`, `integration-pharos`). `npm run test:long` runs the projects `long`, `long-fuzz`, `long-strict` and `long-pharos`: the long
 * files, the whole of what `npm test` runs a slice of, a million generated messages, and all of the upkeep's tests next to such nodes.
 */
export default defineConfig({
  test: {
    retry: 0,
    // For a machine of two cores: most tests wait for a process or a clock most of the time.
    maxWorkers: 5,
    projects: [
      {
        test: {
          name: "unit",
          setupFiles: [...setupFiles, join(import.meta.dirname, "test/support/own-globals.setup.ts")],
          env: places,
          expect,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          include: ["**/*.test.ts"],
          exclude: [...elsewhere, ...costlyTests],
          // Loading each file's modules takes longer than its tests: a unit test leaves its process as it was.
          isolate: false,
        },
      },
      {
        plugins: [startCompiled],
        test: {
          name: "integration",
          ...integration,
          include: ["**/*.integration.test.ts"],
          exclude: [...elsewhere, ...unsharedIntegrationTests],
          // A separate process costs each file a second of CPU, most of it to load the same modules again.
          isolate: false,
        },
      },
      {
        plugins: [startCompiled],
        test: {
          name: "integration-isolated",
          ...integration,
          include: unsharedIntegrationTests,
          exclude: elsewhere,
        },
      },
      ...Object.keys(profiles).map((profile) => ({
        plugins: [startCompiled],
        test: {
          name: `integration-${profile}`,
          ...integration,
          include: ["test/sidecar/upkeep/upkeep.integration.test.ts"],
          env: { ...startsCompiled.env, GATEHOUSE_DEVNET_PROFILE: profile },
        },
      })),
      {
        plugins: [startCompiled],
        test: {
          name: "e2e",
          setupFiles,
          include: ["**/*.e2e.test.ts"],
          exclude: elsewhere,
          ...startsCompiled,
          expect,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          ...docker,
          name: "docker",
          exclude: [...elsewhere, ...aloneOnEngine],
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...docker,
          name: "docker-alone",
          include: aloneOnEngine,
          exclude: elsewhere,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "package",
          include: ["**/*.package.test.ts"],
          globalSetup: ["test/package/artifacts.setup.ts"],
          exclude: elsewhere,
          testTimeout: 300_000,
          hookTimeout: 600_000,
        },
      },
      {
        test: {
          name: "long",
          include: ["**/*.long.test.ts", ...sizedTests],
          exclude: elsewhere,
          env: long,
          ...fiveMinutes,
        },
      },
      {
        test: {
          name: "long-fuzz",
          include: fuzzTests,
          env: { ...long, GATEHOUSE_FUZZ_RUNS: "1000000" },
        },
      },
      ...Object.entries(profiles).map(([profile, exclude]) => ({
        test: {
          name: `long-${profile}`,
          include: upkeepTests,
          exclude,
          env: { GATEHOUSE_DEVNET_PROFILE: profile, ...long, GATEHOUSE_TEST_KILL_STRIDE: "5" },
          ...fiveMinutes,
        },
      })),
    ],
  },
});

import { defineConfig } from "vitest/config";

/**
 * A test file's name tells its cost: `*.test.ts` is a unit test and stands beside its code, `*.integration.test.ts`
 * starts real services on free ports, `*.e2e.test.ts` runs the commands that a person types, `*.docker.test.ts` needs a Docker
 * engine and is no part of `npm test`. The upkeep's integration tests run once more, as `integration-strict`, beside a node that is as
 * rude as a node may be (`sidecar/testing/node-profile.ts`).
 */
export default defineConfig({
  test: {
    retry: 0,
    // Of the machine's two cores: most tests wait for a process or a clock most of the time.
    maxWorkers: 3,
    projects: [
      {
        test: {
          name: "unit",
          include: ["**/*.test.ts"],
          exclude: ["node_modules/**", ".gatehouse/**", "**/*.{integration,e2e,docker}.test.ts"],
          testTimeout: 10_000,
        },
      },
      {
        test: {
          name: "integration",
          include: ["**/*.integration.test.ts"],
          exclude: ["node_modules/**", ".gatehouse/**"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "integration-strict",
          // Not test/sidecar/no-watches: no node runs there, it is about the kernel's watches.
          include: [
            "test/sidecar/upkeep/*.integration.test.ts",
            "test/sidecar/{adopt,another-node,faults,hard-places,killed-at-each-step,metrics-arriving,restarts-at-night,shared-job,upgrade,upkeep-of-devnet}.integration.test.ts",
          ],
          exclude: ["node_modules/**"],
          env: { GATEHOUSE_DEVNET_PROFILE: "strict" },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["**/*.e2e.test.ts"],
          exclude: ["node_modules/**", ".gatehouse/**"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "docker",
          include: ["**/*.docker.test.ts"],
          globalSetup: ["test/infra/test-images.setup.ts"],
          exclude: ["node_modules/**", ".gatehouse/**"],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});

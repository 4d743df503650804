import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { makeArtifacts } from "./artifacts.ts";
import { expectSale, expectStrictTypes } from "./consumer-checks.ts";
import { makeConsumerFolder, type ConsumerFolder } from "./consumer-folder.ts";
import { fetchManager, type ManagerName, type PackageManager } from "./package-managers.ts";

/**
 * Defines the package's tests with a package manager other than npm; each has its own file, so that they run concurrently.
 */
export function describePackageInstalledBy(name: ManagerName): void {
  describe(`the package installed by ${name}`, () => {
    let folder: string;
    let manager: PackageManager;
    let consumer: ConsumerFolder;

    beforeAll(async () => {
      folder = await realpath(await mkdtemp(join(tmpdir(), `gatehouse-${name}-`)));
      const [{ tarball }, fetched] = await Promise.all([
        makeArtifacts(inject("artifactsDirectory")),
        fetchManager(name, folder),
      ]);
      manager = fetched;
      consumer = await makeConsumerFolder(join(folder, "consumer"), tarball);
      await manager.install(consumer.folder);
    }, 1_200_000);
    afterAll(() => rm(folder, { recursive: true, force: true }));

    it("runs through the package manager's own command", async () => {
      const runner = name === "pnpm" ? ["exec"] : ["run", "--silent"];
      const version = await consumer.run(manager.program, [...runner, "gatehouse", "--version"]);
      expect(version).toMatchObject({ status: 0, stdout: `${packageJson.version}\n` });
      const help = await consumer.run(manager.program, [...runner, "gatehouse-evm", "--help"]);
      expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining("Usage: gatehouse") as unknown });
    });

    it("starts the whole stack, and buys one request", () => expectSale(consumer));

    it("compiles for a strict consumer of every export, and supports import and require", async () => {
      await expectStrictTypes(consumer, "typescript-native");
      const exported = await consumer.run(process.execPath, ["require-all.cjs"]);
      expect(exported, exported.stderr).toMatchObject({ status: 0, stderr: "" });
      expect(JSON.parse(exported.stdout)).toMatchObject({ policies: ["gatehousePolicies"] });
      const judged = await consumer.run(process.execPath, ["policy-check.mjs"]);
      expect(judged.stdout, judged.stderr).toMatch(/^image-pinned: shop /m);
    });
  });
}

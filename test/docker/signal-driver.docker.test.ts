import { describe, expect, test } from "vitest";
import { root } from "../style/rooms.ts";
import { startContainer, type TestContainer } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const found = await findEngine();
const engine = found.ok ? found : { url: "", nodeImage: "" };
const image = engine.nodeImage;

const node =
  "process.on('SIGTERM', () => { console.log('stopping'); process.exit(0); }); setInterval(() => {}, 1000); console.log('up');";

/** Containers that share the process namespace of a first, idle one, like those of a pod. */
async function startPod() {
  const pause = await startContainer({ image, options: ["--network", "none"], command: ["sleep", "1000"] });
  const shared = ["--network", "none", "--pid", `container:${pause.name}`];
  const container = await startContainer({
    image,
    options: [...shared, "--restart", "always"],
    command: ["node", "-e", node],
  });
  await until("the node is up", generousMs, async () => (await container.logs()).includes("up"));
  const dispose = async () => {
    await container[Symbol.asyncDispose]();
    await pause[Symbol.asyncDispose]();
  };
  return { container, shared, [Symbol.asyncDispose]: dispose };
}

/**
 * Runs the driver as the sidecar would, in a container of the pod that has another process with the node's name;
 * returns its output.
 */
async function restartFrom(
  shared: readonly string[],
  processName: string,
  options: readonly string[] = [],
): Promise<string> {
  const program = `
    import { createSignalDriver } from "/app/sidecar/upkeep/drivers/signal-driver.ts";
    const driver = createSignalDriver({ processName: () => ${JSON.stringify(processName)}, timeoutMs: 20_000 });
    await driver.restart(new AbortController().signal).then(() => console.log("restarted"), (error) => console.log(error.message));`;
  const script = `node -e "setInterval(() => {}, 1000)" & node --input-type=module -e '${program}'; kill -0 $! && echo "the other one is alive"`;
  return runDocker("run", "--rm", ...shared, ...options, "--volume", `${root}:/app:ro`, image, "sh", "-c", script);
}

/** Returns the node's start time as reported by the driver in its own container. */
async function readStartFrom(options: readonly string[], processName: string): Promise<string> {
  const program = `
    import { createSignalDriver } from "/app/sidecar/upkeep/drivers/signal-driver.ts";
    console.log(await createSignalDriver({ processName: () => ${JSON.stringify(processName)}, timeoutMs: 1_000 }).startedAt());`;
  const run = ["node", "--input-type=module", "-e", program];
  return runDocker("run", "--rm", ...options, "--volume", `${root}:/app:ro`, image, ...run);
}

const started = (container: TestContainer) => container.inspect("{{.State.StartedAt}}");

describe.skipIf(!found.ok)(`the signal driver in a shared process namespace${skipReason(found)}`, () => {
  test("restarts the node with SIGTERM and leaves the sidecar's processes alone", async () => {
    await using pod = await startPod();
    const startTimeBefore = await started(pod.container);
    expect(await restartFrom(pod.shared, "node")).toBe("restarted\nthe other one is alive");
    expect(Date.parse(await started(pod.container))).toBeGreaterThan(Date.parse(startTimeBefore));
    await until("the new process is up", generousMs, async () =>
      (await pod.container.logs()).startsWith("up\nstopping\nup"),
    );
  });

  test("reports the node's start time, or that no node process is running", async () => {
    await using pod = await startPod();
    const seen = Number(await readStartFrom(pod.shared, "node"));
    expect(Math.abs(seen - Date.parse(await started(pod.container)))).toBeLessThan(2_000);
    expect(await readStartFrom(pod.shared, "nodule")).toBe("unknown");
    expect(await readStartFrom(["--network", "none"], "node")).toBe("unknown");
    await runDocker("rm", "--force", pod.container.name);
    expect(await readStartFrom(pod.shared, "node")).toBe("not-running");
  });

  test("reports a missing process or missing permission with a fix", async () => {
    await using pod = await startPod();
    const startTimeBefore = await started(pod.container);
    expect(await restartFrom(pod.shared, "nodule")).toContain(
      "no process named nodule is visible in another container; set shareProcessNamespace on the pod, or kubernetes.processName.",
    );
    expect(await restartFrom(pod.shared, "node", ["--user", "10001:10001"])).toMatch(
      /process \d+ \(node\) can't be signalled \(EPERM\); run the sidecar as the node's user, or grant it CAP_KILL\./,
    );
    expect(await restartFrom(["--network", "none"], "node")).toContain(
      "no process named node is visible in another container",
    );
    expect(await started(pod.container)).toBe(startTimeBefore);
  });
});

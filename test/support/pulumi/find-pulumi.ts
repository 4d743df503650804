import { execFile } from "node:child_process";
import { promisify } from "node:util";
import pulumiDocker from "@pulumi/docker/package.json" with { type: "json" };
import pulumiKubernetes from "@pulumi/kubernetes/package.json" with { type: "json" };

const run = promisify(execFile);
const deadlineMs = 30_000;

export type TestPulumi = Readonly<{ ok: true; version: string } | { ok: false; message: string }>;

export async function findPulumi(target: "docker" | "kubernetes"): Promise<TestPulumi> {
  const { version } = target === "docker" ? pulumiDocker : pulumiKubernetes;
  try {
    const { stdout: found } = await run("pulumi", ["version"], { timeout: deadlineMs });
    const { stdout: plugins } = await run("pulumi", ["plugin", "ls", "--json"], { timeout: deadlineMs });
    const installed = (JSON.parse(plugins) as { name: string; version: string }[]).some(
      (plugin) => plugin.name === target && plugin.version === version,
    );
    if (installed) return { ok: true, version: found.trim() };
    return {
      ok: false,
      message: `no Pulumi provider ${target} ${version}; run pulumi plugin install resource ${target} v${version}`,
    };
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    const why = code === "ENOENT" ? "no command pulumi" : `pulumi does not respond: ${message.split("\n")[0] ?? ""}`;
    return {
      ok: false,
      message: `${why}; install Pulumi (https://www.pulumi.com/docs/install/) and have it on the PATH`,
    };
  }
}

import { runDocker } from "./docker.ts";

export type TestEngine = Readonly<
  | {
      ok: true;
      /** In the format of the setting `docker.engine`. */
      url: string;
      nodeImage: string;
    }
  | { ok: false; message: string }
>;

export async function findEngine(): Promise<TestEngine> {
  const host = process.env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock";
  const nodeImage = process.env["GATEHOUSE_TEST_NODE_IMAGE"] ?? "node:26-bookworm-slim";
  try {
    await runDocker("version", "--format", "{{.Server.Version}}");
  } catch (error) {
    const message = `no Docker engine at ${host} (${readFirstLine(error)}); start one, or set DOCKER_HOST, or run .ci/engine npm run test:docker`;
    return { ok: false, message };
  }
  try {
    await runDocker("image", "inspect", nodeImage).catch(() => runDocker("pull", "--quiet", nodeImage));
  } catch (error) {
    const message = `no image ${nodeImage} (${readFirstLine(error)}); set GATEHOUSE_TEST_NODE_IMAGE to one with Node 24 or later`;
    return { ok: false, message };
  }
  return { ok: true, url: host.replace(/^tcp:/, "http:"), nodeImage };
}

/** Returns a suffix for a test group's name: empty, or why the group is skipped. */
export function skipReason(engine: TestEngine): string {
  return engine.ok ? "" : ` (skipped: ${engine.message})`;
}

function readFirstLine(error: unknown): string {
  const { code, stderr, message } = error as { code?: unknown; stderr?: string; message: string };
  if (code === "ENOENT") return "the command docker is missing";
  return (stderr?.trim() || message).split("\n")[0] ?? "";
}

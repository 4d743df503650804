import { posix } from "node:path";
import { z } from "zod";
import type { EngineClient } from "./engine-client.ts";

const created = z.object({ Id: z.string() });

/** What a program is looked for in where an image names no PATH (Docker's own default). */
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Which of some programs an image is known not to have, by the PATH of its environment. The engine shows files of containers only: one is made
 * of the image, never started, and removed. Where the engine makes none, nothing is known before the build.
 */
export async function programsMissing(
  ask: EngineClient,
  image: string,
  { programs, environment }: Readonly<{ programs: readonly string[]; environment: readonly string[] }>,
): Promise<readonly string[]> {
  const path = environment.find((line) => line.startsWith("PATH="))?.slice("PATH=".length) ?? defaultPath;
  const body = { Image: image, Entrypoint: ["node"], NetworkDisabled: true, Labels: { "io.gatehouse.look": "" } };
  const made = await ask("/containers/create", { method: "POST", body });
  const id = created.safeParse(made.body).data?.Id;
  if (id === undefined) return [];
  const has = async (file: string) =>
    (await ask(`/containers/${id}/archive?path=${encodeURIComponent(file)}`, { method: "HEAD" })).status === 200;
  try {
    const found = await Promise.all(
      programs.map(async (program) => {
        const places = program.startsWith("/") ? [program] : path.split(":").map((at) => posix.join(at, program));
        return (await Promise.all(places.map(has))).includes(true);
      }),
    );
    return programs.filter((_, index) => found[index] === false);
  } finally {
    await ask(`/containers/${id}?force=true&v=true`, { method: "DELETE" });
  }
}

import { runDocker } from "../engine/docker.ts";

/** Removes everything that even an incomplete stack left on the engine: containers, networks, volumes, and the images that it built. */
export async function removeStack(prefix: string): Promise<void> {
  const labelled = ["--filter", `label=io.gatehouse.stack=${prefix}`];
  await remove(["rm", "--force"], await runDocker("ps", "--all", "--quiet", ...labelled));
  await remove(["network", "rm"], await runDocker("network", "ls", "--quiet", ...labelled));
  await remove(["volume", "rm"], await runDocker("volume", "ls", "--quiet", ...labelled));
  const format = ["--format", "{{.Repository}}:{{.Tag}}"];
  await remove(
    ["image", "rm"],
    await runDocker("image", "ls", ...format, "--filter", `reference=${prefix.toLowerCase()}/*`),
  );
}

async function remove(kind: readonly string[], found: string): Promise<void> {
  if (found !== "") await runDocker(...kind, ...found.split("\n"));
}

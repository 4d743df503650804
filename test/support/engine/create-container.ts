import { buildArchive } from "./archive.ts";
import { buildContainerBody, type ContainerInputs } from "./container-body.ts";
import type { EngineApi } from "./engine-api.ts";

export async function createContainer(api: EngineApi, inputs: ContainerInputs): Promise<void> {
  const { name } = inputs;
  await api.call("POST", `/containers/create?name=${name}`, buildContainerBody(inputs));
  for (const { name: network, aliases } of inputs.networksAdvanced.slice(1)) {
    await api.call("POST", `/networks/${network}/connect`, { Container: name, EndpointConfig: { Aliases: aliases } });
  }
  const files = inputs.uploads.map(({ file, content, permissions }) => ({
    path: file.slice(1),
    content,
    mode: Number.parseInt(permissions, 8),
  }));
  if (files.length > 0) await api.putArchive(name, buildArchive(files));
}

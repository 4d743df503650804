import { root } from "../../style/rooms.ts";
import { startContainer, type TestContainer } from "./container.ts";

export type ServiceContainerOptions = Readonly<{
  image: string;
  service: string;
  env: Readonly<Record<string, string>>;
  options?: readonly string[];
}>;

export function startServiceContainer({
  image,
  service,
  env,
  options = [],
}: ServiceContainerOptions): Promise<TestContainer> {
  const environment = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  return startContainer({
    image,
    options: ["--network", "host", "--volume", `${root}:/app:ro`, ...environment, ...options],
    command: ["node", "/app/cli/gatehouse.js", service],
  });
}

// Files of undici that are imported alone, because its index also loads its fetch, caches and mocks, which take 7 MiB.

declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici";
  export default Agent;
}

import { describeInstalledBy } from "./installed-by-manager.ts";

describeInstalledBy("bun");

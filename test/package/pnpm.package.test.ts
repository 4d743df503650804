import { describeInstalledBy } from "./installed-by-manager.ts";

describeInstalledBy("pnpm");

import { describePackageInstalledBy } from "./package-manager-tests.ts";

describePackageInstalledBy("bun");

import { writeBenchmarksPage } from "./benchmarks-page.ts";

await writeBenchmarksPage();

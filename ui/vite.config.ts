// One self-contained HTML file for each page: `vite build --mode browser`, `--mode app`, or, for tests, `--mode test-host/host`.
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

export default defineConfig(({ mode }) => ({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    outDir: "built",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    rollupOptions: { input: `${mode}.html` },
  },
}));

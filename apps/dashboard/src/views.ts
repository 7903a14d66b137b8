/** The parts that are shown after the first view: one script, because each is too small for a script of its own. */
export { AdminPage } from './admin/admin-page.tsx';
export { BulkActions } from './bulk/bulk-actions.tsx';
export { ExportMenu } from './bulk/export-menu.tsx';
export { ImportDialog } from './bulk/import-dialog.tsx';
export { MemoryMap } from './map/memory-map.tsx';
export { ActivityPage } from './pages/activity.tsx';
export { ConsolidationPage } from './pages/consolidation.tsx';
export { RecallPage } from './pages/recall.tsx';
export { RunPage } from './pages/run.tsx';
export { SessionPage } from './pages/session.tsx';
export { SessionsPage } from './pages/sessions.tsx';
export { MemoryPanel } from './panel/memory-panel.tsx';
export { Timeline } from './timeline/timeline.tsx';

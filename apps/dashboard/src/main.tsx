import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { ServiceProvider } from './service.tsx';
import { chooseTheme, chosenTheme } from './theme.ts';
import './tokens.css';
import './page.css';

chooseTheme(chosenTheme());
const page = document.getElementById('page');
if (page) {
  createRoot(page).render(
    <ServiceProvider>
      <App />
    </ServiceProvider>,
  );
}
